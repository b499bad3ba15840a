"""Clouds that show different parts of an object are laid on each other by what both show."""

import pytest
import torch
from torch import Tensor

from deepume import RigidTransform, register
from deepume.alignment.fit import Fit
from deepume.alignment.indexed_pair import PreparedPair
from deepume.datasets import make_shape
from deepume.datasets.pairs.metrics import rotation_error_deg
from deepume.datasets.pairs.scenarios import density, zero
from deepume.methods.auto import Auto
from deepume.search.candidates import Candidates
from deepume.search.finish import Finish, Sampling
from deepume.search.judgement.comparison import judge_poses
from deepume.search.pair import prepare_pair
from deepume.search.policy import Effort
from deepume.search.sampling.overlap import LONELY, PARTS_GICP, lay_parts, may_be_parts, share_off_surface
from strategies import generator, random_motion, worst

LENGTHWISE = torch.tensor([0.8, 0.5, 0.3], dtype=torch.float64)
FAMILIES = ("body", "hand", "quadruped", "airplane", "teapot", "chair", "fish", "hammer")


def samples(family: str, n: int, seed: int = 1) -> Tensor:
    return make_shape(family, generator=generator(3)).sample(n, generator=generator(seed))


def parts(family: str, n: int = 700) -> tuple[Tensor, Tensor]:
    """Two samplings; each lacks a quarter of the points, at opposite ends."""
    source, target = samples(family, n, 1), samples(family, n, 2)
    low, high = source @ LENGTHWISE, target @ LENGTHWISE
    return source[low < low.quantile(0.75)], target[high > high.quantile(0.25)]


def prepared(source: Tensor, target: Tensor, motion: RigidTransform) -> tuple[PreparedPair, RigidTransform]:
    pair, placement = prepare_pair(source, motion.apply(target))
    return pair, placement.enter(motion[None])[0]


def errors(effort: Effort) -> Tensor:
    """Of the poses found for parts of every family, in degrees."""
    motion, found = random_motion(0), []
    for family in FAMILIES:
        source, target = parts(family)
        found.append(rotation_error_deg(Auto(effort)(source, motion.apply(target)).target_from_source, motion))
    return torch.stack(found)


def test_most_parts_find_their_place_where_wholes_would_be_drawn_together() -> None:
    assert int((errors(Effort.AUTO) < 10).sum()) >= len(FAMILIES) - 1
    assert int((errors(Effort.FAST) < 10).sum()) <= len(FAMILIES) // 2


@pytest.mark.parametrize("family", FAMILIES[:4])
def test_parts_are_told_from_wholes_and_from_samplings_that_thin_out(family: str) -> None:
    cloud, motion = samples(family, 2800), random_motion(0)
    pair, truth = prepared(*parts(family), motion)
    fit = Fit.of(pair, truth)
    assert may_be_parts(pair, fit)
    assert fit.lonely_share > LONELY
    pair, truth = prepared(*zero(cloud, 600, generator=generator(2)), motion)
    assert not may_be_parts(pair, Fit.of(pair, truth))
    pair, truth = prepared(*density(cloud, 600, generator=generator(2)), motion)
    assert Fit.of(pair, truth).lonely_share < LONELY


def test_parts_of_few_points_are_left_as_they_are() -> None:
    pair, truth = prepared(*parts("body", 190), random_motion(0))
    assert not may_be_parts(pair, Fit.of(pair, truth))


def test_what_is_off_the_surface_runs_from_none_to_all_and_is_the_same_from_both_sides() -> None:
    cloud = samples("body", 300)
    pair, truth = prepared(cloud, cloud, random_motion(0))
    far = RigidTransform(truth.rotation, truth.translation + 100)
    turned = RigidTransform(random_motion(5).rotation, truth.translation)
    poses = RigidTransform.concatenate([truth[None], turned[None], far[None]])
    off = share_off_surface(pair, poses)
    assert float(off[0]) < 1e-9 < 0.1 < float(off[1]) < float(off[2]) == 1
    assert worst(share_off_surface(pair.swapped(), poses.inverse()), off) < 1e-9


def test_rivals_fit_no_better_than_the_answer_and_are_other_poses() -> None:
    pair, _ = prepared(*parts("body"), random_motion(0))
    whole, rivals = Auto(Effort.FAST).find(pair)
    finish, beaten = lay_parts(pair, whole, rivals)
    assert finish.sampling is Sampling.PARTS
    assert finish.lead is None or finish.lead >= 0
    assert bool((beaten.scores >= finish.fit.score).all())
    assert float(rotation_error_deg(finish.fit.pose, beaten.poses).min()) > 10


def test_parts_have_no_symmetry_of_their_own_and_rivals_that_lie_as_well_are_named() -> None:
    pair, truth = prepared(*parts("body"), random_motion(0))
    laid = Finish(Fit.of(pair, pair.gicp(truth[None], PARTS_GICP)[0]), Sampling.PARTS, lead=0.5)
    turned = RigidTransform(random_motion(5).rotation, truth.translation)
    near = RigidTransform(laid.fit.pose.rotation, laid.fit.pose.translation + 1e-4)
    for rival, as_well in ((turned, False), (near, True)):
        judged = judge_poses(pair, laid, Candidates.rank(pair, rival[None]))
        assert judged.symmetry.orders == ()
        assert judged.as_well.tolist() == [True, as_well]
        assert bool(judged.ambiguous) == as_well


def test_large_parts_are_finished_on_all_their_points() -> None:
    motion = random_motion(0)
    source, target = parts("body", 4000)
    result = register(source, motion.apply(target))
    assert float(rotation_error_deg(result.target_from_source, motion)) < 1
    assert result.residuals is not None
    assert len(result.residuals) == len(source)
