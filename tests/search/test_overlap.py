"""Clouds that show different parts of an object are laid on each other by what both show."""

import pytest
import torch
from torch import Tensor

from deepume import RigidTransform, register
from deepume.alignment.score import unmatched_share
from deepume.datasets import make_shape
from deepume.datasets.pairs.metrics import rotation_error_deg
from deepume.datasets.pairs.scenarios import density, zero
from deepume.methods.auto import Auto
from deepume.search.policy import Effort
from deepume.search.sampling.overlap import OVERLAP, share_off_surface
from deepume.search.sampling.relation import CloudFit, Finish, Start
from deepume.search.schedule import search_pair, try_overlap
from framed_pairs import POLICY, frame, move_and_frame
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


def unmatched(fit: CloudFit) -> float:
    """Share of points without a counterpart, of the cloud that has fewer of them."""
    return min(unmatched_share(side, POLICY.overlap.unmatched_spacings) for side in fit.sides)


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
    pair, truth = move_and_frame(*parts(family), motion)
    assert OVERLAP.evidence(Start(pair, truth))
    assert unmatched(pair.fit(truth)) > POLICY.overlap.unmatched
    pair, truth = move_and_frame(*zero(cloud, 600, generator=generator(2)), motion)
    assert not OVERLAP.evidence(Start(pair, truth))
    pair, truth = move_and_frame(*density(cloud, 600, generator=generator(2)), motion)
    assert unmatched(pair.fit(truth)) < POLICY.overlap.unmatched


def test_parts_of_few_points_are_left_as_they_are() -> None:
    pair, truth = move_and_frame(*parts("body", 190), random_motion(0))
    assert not OVERLAP.evidence(Start(pair, truth))


def test_what_is_off_the_surface_runs_from_none_to_all_and_is_the_same_from_both_sides() -> None:
    cloud = samples("body", 300)
    pair, truth = move_and_frame(cloud, cloud, random_motion(0))
    far = RigidTransform(truth.rotation, truth.translation + 100)
    turned = RigidTransform(random_motion(5).rotation.numpy(), truth.translation)
    poses = RigidTransform.concatenate([truth[None], turned[None], far[None]])
    off = share_off_surface(pair, poses)
    assert float(off[0]) < 1e-9 < 0.1 < float(off[1]) < float(off[2]) == 1
    assert worst(share_off_surface(pair.swapped(), poses.inverse()), off) < 1e-9


def test_rivals_fit_no_better_than_the_answer_and_are_other_poses() -> None:
    source, target = parts("body")
    pair = frame(source, random_motion(0).apply(target), Effort.FAST).pair.ordered
    finish, beaten = try_overlap(pair, search_pair(pair))
    assert finish.sampling is OVERLAP
    assert finish.lead is None or finish.lead >= 0
    assert bool((beaten.scores >= finish.fit.score).all())
    assert float(rotation_error_deg(finish.fit.pose, beaten.poses).min()) > 10


def test_parts_have_no_symmetry_of_their_own_and_rivals_that_lie_as_well_are_named() -> None:
    pair, truth = move_and_frame(*parts("body"), random_motion(0))
    laid = Finish(pair.fit(pair.gicp(truth[None], POLICY.overlap.gicp)[0]), OVERLAP, lead=0.5)
    turned = RigidTransform(random_motion(5).rotation.numpy(), truth.translation)
    near = RigidTransform(laid.fit.pose.rotation, laid.fit.pose.translation + 1e-4)
    for rival, as_well in ((turned, False), (near, True)):
        poses = RigidTransform.stack([laid.fit.pose, rival])
        compared = OVERLAP.compare(pair, laid, poses, pair.score(poses))
        assert compared.symmetry.orders == ()
        assert compared.equivalent.tolist() == [True, as_well]
        assert bool(compared.ambiguous) == as_well
        assert compared.lead == laid.lead


def test_large_parts_are_finished_on_all_their_points() -> None:
    motion = random_motion(0)
    source, target = parts("body", 4000)
    result = register(source, motion.apply(target))
    assert float(rotation_error_deg(result.target_from_source, motion)) < 1
    assert result.residuals is not None
    assert len(result.residuals) == len(source)
