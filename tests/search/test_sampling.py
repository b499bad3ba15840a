"""Which refinement a pair gets, and what it is worth."""

import numpy as np
import pytest
import torch
from torch import Tensor

from deepume import RigidTransform
from deepume.alignment.gicp import GicpSettings
from deepume.alignment.nearest_points import IcpSettings
from deepume.alignment.soft_matching import match_softly
from deepume.datasets import make_shape
from deepume.datasets.pairs.metrics import rotation_error_deg
from deepume.search.pair import CloudPair
from deepume.search.sampling.copies import COPIES, are_one_to_one
from deepume.search.sampling.relation import Finish, Start
from deepume.search.sampling.shared import SHARED, lock_onto_shared
from deepume.search.sampling.surfaces import SURFACES
from deepume.search.schedule import choose, finish_pose, search_pair
from deepume.transform import rotation_from_vector
from framed_pairs import POLICY, frame, move_and_frame
from strategies import generator, random_motion

SHAPES = ("chair", "body", "hand")


def samples(family: str, n: int, seed: int = 0) -> Tensor:
    return make_shape(family, generator=generator(3)).sample(n, generator=generator(seed))


def shared(family: str, n: int, part: float = 0.5) -> tuple[Tensor, Tensor]:
    points = samples(family, 2 * n)
    first = n - round(part * n)
    return points[:n], points[first : first + n]


def copies(family: str, n: int, noise: float = 0.01) -> tuple[Tensor, Tensor]:
    points = samples(family, n)
    return points, points + noise * torch.randn(points.shape, generator=generator(9), dtype=torch.float64)


def independent(family: str, n: int) -> tuple[Tensor, Tensor]:
    return samples(family, n, 1), samples(family, n, 2)


def softly(pair: CloudPair, pose: RigidTransform) -> RigidTransform:
    return match_softly(pair.source, pair.target, pose, POLICY.copies.soft)


def framed(source: Tensor, target: Tensor) -> tuple[CloudPair, RigidTransform, RigidTransform]:
    """The pair, its true pose, and a pose two degrees away."""
    pair, truth = move_and_frame(source, target, random_motion(0))
    step = rotation_from_vector(np.array([0.02, -0.02, 0.02]))
    return pair, truth, RigidTransform(step, np.zeros(3)) @ truth


@pytest.mark.parametrize("family", SHAPES)
@pytest.mark.parametrize("n", [128, 600])
def test_shared_points_fix_the_pose_to_rounding(family: str, n: int) -> None:
    pair, truth, start = framed(*shared(family, n))
    finish = finish_pose(pair, start)
    assert finish.sampling is SHARED
    assert rotation_error_deg(finish.fit.pose, truth) < 1e-6


@pytest.mark.parametrize("family", SHAPES)
def test_a_tenth_of_the_points_is_enough(family: str) -> None:
    pair, truth, start = framed(*shared(family, 600, part=0.1))
    locked = lock_onto_shared(pair, pair.gicp(start[None], GicpSettings())[0])
    assert locked is not None
    assert rotation_error_deg(locked, truth) < 1e-6


@pytest.mark.parametrize("make", [copies, independent])
@pytest.mark.parametrize("n", [64, 600])
def test_nothing_is_locked_onto_where_nothing_is_shared(make, n: int) -> None:
    pair, truth, _ = framed(*make("chair", n))
    assert lock_onto_shared(pair, truth) is None


@pytest.mark.parametrize("family", SHAPES)
@pytest.mark.parametrize("n", [64, 256, 1000])
def test_copies_are_told_from_independent_samplings(family: str, n: int) -> None:
    for make, expected in ((copies, True), (independent, False)):
        pair, truth, start = framed(*make(family, n))
        assert COPIES.evidence(Start(pair, truth)) is expected
        assert COPIES.evidence(Start(pair, start)) is expected


@pytest.mark.parametrize("n", [128, 1000])
def test_copies_are_told_by_their_moments_where_noise_hides_their_density(n: int) -> None:
    for family in (*SHAPES, "quadruped"):
        pair, _, start = framed(*copies(family, n, noise=0.05))
        assert are_one_to_one(pair, softly(pair, start))
        noisy, _, start = framed(*(each + 0.03 * torch.randn_like(each) for each in independent(family, n)))
        assert not are_one_to_one(noisy, softly(noisy, start))
        fewer, truth, _ = framed(samples(family, n), samples(family, n)[1:])
        assert not are_one_to_one(fewer, truth)


def test_noise_beyond_the_spacing_does_not_hide_that_points_belong_together_one_to_one() -> None:
    errors, of_soft = [], []
    for family in (*SHAPES, "quadruped", "airplane"):
        pair, truth, start = framed(*copies(family, 1000, noise=0.05))
        finish = finish_pose(pair, start)
        assert finish.sampling is COPIES
        errors.append(rotation_error_deg(finish.fit.pose, truth))
        of_soft.append(rotation_error_deg(softly(pair, start), truth))
    assert sum(errors) < 0.8 * sum(of_soft)


def test_noisy_copies_are_placed_better_than_by_nearest_points() -> None:
    errors = {"ours": 0.0, "icp": 0.0, "gicp": 0.0}
    for family in SHAPES:
        pair, truth, start = framed(*copies(family, 600, noise=0.03))
        finish = finish_pose(pair, start)
        assert finish.sampling is COPIES
        errors["ours"] += float(rotation_error_deg(finish.fit.pose, truth))
        errors["icp"] += float(rotation_error_deg(pair.icp(start[None], IcpSettings())[0], truth))
        errors["gicp"] += float(rotation_error_deg(pair.gicp(start[None], GicpSettings())[0], truth))
    assert errors["ours"] < errors["icp"]
    assert errors["ours"] < 0.5 * errors["gicp"]


@pytest.mark.parametrize("n", [100, 500])
def test_a_finished_pose_never_scores_clearly_worse_than_its_start(n: int) -> None:
    pair, truth, start = framed(*independent("chair", n))
    for pose in (truth, start, RigidTransform(random_motion(5).rotation.numpy(), truth.translation)):
        finish = finish_pose(pair, pose)
        fits = pair.fit(pose), finish.fit
        before, after = (each.surface_score if pair.dense else each.score for each in fits)
        assert after <= before * (1 + pair.chance)


def test_noise_that_hides_the_surface_is_not_taken_for_one() -> None:
    errors, by_normals = [], []
    for family in (*SHAPES, "quadruped", "airplane"):
        noise = 0.06 * torch.randn(2, 600, 3, generator=generator(5), dtype=torch.float64)
        source, target = independent(family, 600)
        pair, truth, start = framed(source + noise[0], target + noise[1])
        errors.append(rotation_error_deg(finish_pose(pair, start).fit.pose, truth))
        by_normals.append(rotation_error_deg(pair.gicp(start[None], POLICY.surfaces.gicp)[0], truth))
    assert sum(errors) < 0.5 * sum(by_normals)


def test_the_best_finish_is_the_answer_and_all_else_its_rivals() -> None:
    pair, truth, start = framed(*independent("chair", 300))
    away = RigidTransform(random_motion(5).rotation.numpy(), truth.translation)
    worse, better = (Finish(pair.fit(pose), SURFACES) for pose in (away, truth))
    rest = pair.rank(
        RigidTransform.stack([start, RigidTransform(random_motion(6).rotation.numpy(), truth.translation)])
    )
    best, rivals = choose([worse, better], rest)
    assert best is better
    assert len(rivals.scores) == 2  # the start is the answer's own
    assert rivals.scores.tolist() == sorted([worse.fit.score, float(rest.scores[1])])


@pytest.mark.parametrize(("family", "number"), [("box", 2), ("cylinder", 0), ("gear", 0)])
def test_no_rival_would_win_if_it_were_finished(family: str, number: int) -> None:
    shape = make_shape(family, generator=generator(number))
    source, target = (shape.sample(500, generator=generator(seed)) for seed in (1, 2))
    pair = frame(source, random_motion(0).apply(target)).pair
    finish, rivals = search_pair(pair)
    near = rivals.scores <= finish.fit.score * (1 + pair.chance)
    assert near.any()
    assert all(finish_pose(pair, pose).fit.score >= finish.fit.score - 1e-9 for pose in rivals.poses[near])
