"""How far the search goes, and that going further does not find less."""

import time

import pytest
import torch
from torch import Tensor

from deepume import RigidTransform
from deepume.alignment.indexed_pair import PreparedPair
from deepume.datasets import Law, PairKey, ProceduralSet, Scenario, make_pair, make_shape
from deepume.datasets.pairs.metrics import rotation_error_deg
from deepume.methods.auto import Auto
from deepume.search import schedule as cascade
from deepume.search.candidates import Candidates, in_doubt
from deepume.search.pair import prepare_pair
from deepume.search.policy import Effort
from deepume.search.schedule import search_poses
from strategies import generator, random_cloud, random_motion, worst

STAGES = ("from_frames", "from_network", "from_grid")


def clouds(family: str, n: int, seed: int = 0) -> tuple[Tensor, Tensor, RigidTransform]:
    shape, motion = make_shape(family, generator=generator(3)), random_motion(seed)
    source = shape.sample(n, generator=generator(seed + 1))
    return source, motion.apply(shape.sample(n, generator=generator(seed + 2))), motion


@pytest.fixture
def begun(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of the stages that were begun."""
    names: list[str] = []

    def watch(name: str):
        stage = getattr(cascade, name)

        def watched(pair: PreparedPair, found: Candidates) -> Candidates:
            names.append(name)
            return stage(pair, found)

        return watched

    for name in STAGES:
        monkeypatch.setattr(cascade, name, watch(name))
    return names


def test_a_clear_case_is_answered_by_the_first_stage(begun: list[str]) -> None:
    source, target, motion = clouds("body", 1000)
    result = Auto()(source, target)
    assert begun == []
    assert rotation_error_deg(result.target_from_source, motion) < 1


def test_effort_decides_how_far_the_search_goes(begun: list[str]) -> None:
    source, target, _ = clouds("chair", 70)
    Auto(Effort.FAST)(source, target)
    assert begun == []
    Auto(Effort.AUTO)(source, target)
    assert begun == list(STAGES)
    begun.clear()
    Auto(Effort.THOROUGH)(*clouds("body", 1000)[:2])
    assert begun == ["from_frames", "from_grid"]


def test_a_time_limit_ends_the_search_between_stages(begun: list[str]) -> None:
    source, target, _ = clouds("chair", 70)
    result = Auto(Effort.THOROUGH, time_limit=1e-6)(source, target)
    assert begun == []
    assert result.score.isfinite()
    Auto(Effort.THOROUGH, time_limit=1000.0)(source, target)
    assert begun == list(STAGES)


def test_more_effort_never_finds_a_worse_score() -> None:
    for family in ("chair", "mug", "hammer"):
        pair, _ = prepare_pair(*clouds(family, 150)[:2])
        best = [float(search_poses(pair, effort, None).scores[0]) for effort in Effort]
        assert best[0] >= best[1] >= best[2]


def test_clouds_that_do_not_fit_are_in_doubt() -> None:
    pair, _ = prepare_pair(
        random_cloud(0, 600), make_shape("chair", generator=generator(0)).sample(600, generator=generator(1))
    )
    assert in_doubt(pair, search_poses(pair, Effort.FAST, None))


def test_a_rival_that_fits_as_well_is_a_doubt() -> None:
    source, target, motion = clouds("body", 1000)
    pair, placement = prepare_pair(source, target)
    truth = placement.enter(motion[None])
    alone = Candidates(truth, torch.tensor([1.0], dtype=torch.float64))
    assert not in_doubt(pair, alone)
    rivals = RigidTransform.concatenate([truth, truth])
    assert in_doubt(pair, Candidates(rivals, torch.tensor([1.0, 1.05], dtype=torch.float64)))
    assert not in_doubt(pair, Candidates(rivals, torch.tensor([1.0, 2.0], dtype=torch.float64)))


def test_candidates_are_sorted_and_distinct() -> None:
    pair, _ = prepare_pair(*clouds("chair", 150)[:2])
    poses = random_motion(1, 12)
    found = Candidates.rank(pair, RigidTransform.concatenate([poses, poses]))
    assert bool((found.scores[1:] >= found.scores[:-1]).all())
    assert len(found.scores) <= 12
    joined = found.join(found)
    assert torch.equal(joined.scores, found.scores)


def test_a_density_gradient_does_not_lead_astray() -> None:
    shape, motion = make_shape("body", generator=generator(3)), random_motion(4)
    dense = shape.sample(6000, generator=generator(6))
    chance = torch.sigmoid(4 * dense[:, 2] / dense[:, 2].std())
    kept = dense[torch.rand(6000, generator=generator(7), dtype=torch.float64) < chance][:1000]
    result = Auto()(shape.sample(1000, generator=generator(5)), motion.apply(kept))
    assert rotation_error_deg(result.target_from_source, motion) < 3


def test_a_long_shape_that_is_dense_at_one_end_is_not_slid_along_itself() -> None:
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
def test_the_callers_pose_is_a_hypothesis_whoever_is_called_source(
    n: int, m: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    shape, motion = make_shape("chair", generator=generator(3)), random_motion(1)
    source, target = shape.sample(n, generator=generator(1)), motion.apply(shape.sample(m, generator=generator(2)))
    astray = random_motion(8, 1)
    monkeypatch.setattr(cascade, "from_signs", lambda pair, _: Candidates.rank(pair.quick, astray))
    assert rotation_error_deg(Auto(Effort.FAST)(source, target).target_from_source, motion) > 10
    helped = Auto(Effort.FAST, initial=motion)(source, target)
    assert rotation_error_deg(helped.target_from_source, motion) < 5
