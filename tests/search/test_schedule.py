"""How far the search goes, and that going further does not find less."""

import time
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import Tensor

from deepume import RigidTransform
from deepume.alignment.ranking import Ranking
from deepume.datasets import Law, PairKey, ProceduralSet, Scenario, make_pair, make_shape
from deepume.datasets.pairs.metrics import rotation_error_deg
from deepume.methods.auto import Auto
from deepume.search import schedule
from deepume.search.pair import CloudPair
from deepume.search.policy import Effort
from deepume.search.proposals.proposal import Detail, Proposal
from deepume.search.schedule import PROPOSALS, leaves_doubt, rank_proposals, search_pair
from framed_pairs import as_arrays, frame, move_and_frame
from strategies import generator, random_cloud, random_motion, worst

LATER = ("spread frames", "learned poses", "even rotations")


def clouds(family: str, n: int, seed: int = 0) -> tuple[Tensor, Tensor, RigidTransform]:
    shape, motion = make_shape(family, generator=generator(3)), random_motion(seed)
    source = shape.sample(n, generator=generator(seed + 1))
    return source, motion.apply(shape.sample(n, generator=generator(seed + 2))), motion


@pytest.fixture
def begun(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of the proposals that were begun after the first."""
    names: list[str] = []
    refine = schedule._refine_proposed

    def watched(pair: CloudPair, proposal: Proposal, found: Ranking) -> Ranking:
        names.append(proposal.name)
        return refine(pair, proposal, found)

    monkeypatch.setattr(schedule, "_refine_proposed", watched)
    return names


def test_a_clear_case_is_answered_by_the_first_proposal(begun: list[str]) -> None:
    source, target, motion = clouds("body", 1000)
    result = Auto()(source, target)
    assert begun == []
    assert rotation_error_deg(result.target_from_source, motion) < 1


def test_effort_decides_how_far_the_search_goes(begun: list[str]) -> None:
    source, target, _ = clouds("chair", 70)
    Auto(Effort.FAST)(source, target)
    assert begun == []
    Auto(Effort.AUTO)(source, target)
    assert begun == list(LATER)
    begun.clear()
    Auto(Effort.THOROUGH)(*clouds("body", 1000)[:2])
    assert begun == ["spread frames", "even rotations"]


def test_a_time_limit_ends_the_search_between_proposals(begun: list[str]) -> None:
    source, target, _ = clouds("chair", 70)
    result = Auto(Effort.THOROUGH, time_limit=1e-6)(source, target)
    assert begun == []
    assert result.score.isfinite()
    Auto(Effort.THOROUGH, time_limit=1000.0)(source, target)
    assert begun == list(LATER)


def test_more_effort_never_finds_a_worse_score() -> None:
    for family in ("chair", "mug", "hammer"):
        source, target, _ = clouds(family, 150)
        best = [float(rank_proposals(frame(source, target, each).pair, None, None).scores[0]) for each in Effort]
        assert best[0] >= best[1] >= best[2]


def test_a_proposal_is_added_in_one_place() -> None:
    source, target, motion = clouds("chair", 150)
    pair, truth = move_and_frame(source, motion.inverse().apply(target), motion)
    astray = Proposal("astray", lambda pair, _: as_arrays(random_motion(8, 1)), Detail.WHOLE)
    assert rotation_error_deg(search_pair(pair, proposals=[astray]).finish.fit.pose, truth) > 10
    oracle = Proposal("the truth", lambda pair, _: truth[None], Detail.WHOLE)
    for added in (oracle, replace(oracle, detail=Detail.COARSE)):
        finish = search_pair(pair, proposals=[astray, added]).finish
        assert rotation_error_deg(finish.fit.pose, truth) < 5
    unsuited = replace(oracle, suits=lambda pair: False)
    assert rotation_error_deg(search_pair(pair, proposals=[astray, unsuited]).finish.fit.pose, truth) > 10


def test_clouds_that_do_not_fit_are_in_doubt() -> None:
    chair = make_shape("chair", generator=generator(0)).sample(600, generator=generator(1))
    pair = frame(random_cloud(0, 600), chair, Effort.FAST).pair
    found = rank_proposals(pair, None, None)
    assert all(leaves_doubt(pair, found, proposal) for proposal in PROPOSALS[1:])


def test_a_rival_that_fits_as_well_is_a_doubt_that_spread_frames_may_resolve() -> None:
    source, target, motion = clouds("body", 1000)
    pair, truth = move_and_frame(source, motion.inverse().apply(target), motion)
    spread, _, even = PROPOSALS[1:]
    single = Ranking(truth[None], np.array([1.0]))
    assert not leaves_doubt(pair, single, spread)
    rivals = RigidTransform.stack([truth, truth])
    close = Ranking(rivals, np.array([1.0, 1.05]))
    assert leaves_doubt(pair, close, spread)
    assert not leaves_doubt(pair, close, even)
    assert not leaves_doubt(pair, Ranking(rivals, np.array([1.0, 2.0])), spread)


def test_a_density_gradient_does_not_lead_astray() -> None:
    shape, motion = make_shape("body", generator=generator(3)), random_motion(4)
    dense = shape.sample(6000, generator=generator(6))
    chance = torch.sigmoid(4 * dense[:, 2] / dense[:, 2].std())
    kept = dense[torch.rand(6000, generator=generator(7), dtype=torch.float64) < chance][:1000]
    result = Auto()(shape.sample(1000, generator=generator(5)), motion.apply(kept))
    assert rotation_error_deg(result.target_from_source, motion) < 3


def test_a_long_shape_that_is_dense_at_one_end_is_not_moved_along_itself() -> None:
    dataset = ProceduralSet(seed=2)
    pair = make_pair(dataset, PairKey(dataset.name, Scenario.DENSITY, Law.HAAR, 1024, 95, 1))
    assert pair.label == "wrench"
    answer = Auto()(pair.source, pair.target).target_from_source
    assert rotation_error_deg(answer, pair.target_from_source) < 3
    assert worst(answer.apply(pair.source), pair.target_from_source.apply(pair.source)) < 0.1


def test_the_search_on_big_clouds_is_short_and_its_answer_exact() -> None:
    source, target, motion = clouds("body", 8000)
    start = time.perf_counter()
    result = Auto()(source, target)
    assert time.perf_counter() - start < 10
    assert rotation_error_deg(result.target_from_source, motion) < 0.3


@pytest.mark.parametrize(("n", "m"), [(300, 250), (250, 300)])
def test_the_callers_pose_is_a_hypothesis_whoever_is_called_source(n: int, m: int) -> None:
    shape, motion = make_shape("chair", generator=generator(3)), random_motion(1)
    framed = frame(
        shape.sample(n, generator=generator(1)), motion.apply(shape.sample(m, generator=generator(2))), Effort.FAST
    )
    truth = framed.frame.enter(as_arrays(motion))
    astray = Proposal("astray", lambda pair, _: as_arrays(random_motion(8, 1)), Detail.QUICK)
    for given, helps in ((None, False), (truth, True)):
        found = search_pair(framed.pair, given, proposals=[astray]).finish.fit.pose
        assert (float(rotation_error_deg(found, truth)) < 5) == helps
