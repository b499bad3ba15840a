from collections.abc import Callable
from dataclasses import replace
from functools import partial

import pytest
import torch
from hypothesis import given, settings
from torch import Tensor

from deepume import RigidTransform
from deepume.alignment import polish as refine
from deepume.alignment.gicp import GicpSettings, refine_gicp
from deepume.alignment.nearest_points import IcpSettings, Kernel, Residual, kernel_weights, refine_icp
from deepume.alignment.polish import keep_better, polish
from deepume.alignment.score import NEAREST, SURFACE, score_poses
from deepume.datasets import make_shape
from deepume.datasets.pairs.metrics import rotation_error_deg
from deepume.geometry.chamfer import chamfer_squared
from deepume.transform import rotation_from_vector
from strategies import dtypes, generator, random_cloud, random_motion, seeds, worst
from tolerances import EXACT_FIT

Refiner = Callable[[Tensor, Tensor, RigidTransform], RigidTransform]
POINT = IcpSettings(iterations=60)
PLANE = IcpSettings(residual=Residual.PLANE)
REFINERS: dict[str, Refiner] = {
    "point": partial(refine_icp, settings=POINT),
    "one-sided": partial(refine_icp, settings=replace(POINT, two_sided=False)),
    "plane": partial(refine_icp, settings=PLANE),
    "huber": partial(refine_icp, settings=replace(POINT, kernel=Kernel.HUBER)),
    "geman-mcclure": partial(refine_icp, settings=replace(POINT, kernel=Kernel.GEMAN_MCCLURE)),
    "kept": partial(refine_icp, settings=replace(POINT, kept=0.9)),
    "queries": partial(refine_icp, settings=replace(POINT, queries=100)),
    "scale": partial(refine_icp, settings=replace(POINT, allow_scale=True)),
    "plane scale": partial(refine_icp, settings=replace(PLANE, allow_scale=True)),
    "gicp": refine_gicp,
}


def chair(n: int, m: int, seed: int = 0) -> tuple[Tensor, Tensor, RigidTransform]:
    """Two samplings of a chair and the motion between them."""
    shape, motion = make_shape("chair", generator=generator(3)), random_motion(seed)
    source = shape.sample(n, generator=generator(seed + 1))
    return source, motion.apply(shape.sample(m, generator=generator(seed + 2))), motion


def nearby(motion: RigidTransform, seed: int, count: int = 3, size: float = 0.1) -> RigidTransform:
    """Poses ``(count,)`` that a refiner should bring back."""
    steps = size * torch.randn(count, 6, generator=generator(seed), dtype=torch.float64)
    return RigidTransform(rotation_from_vector(steps[:, :3]), 0.3 * steps[:, 3:]) @ motion[None]


@pytest.mark.parametrize("name", REFINERS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_shared_points_are_found_exactly(name: str, dtype: torch.dtype) -> None:
    source, _, motion = chair(300, 300)
    target, starts = motion.apply(source).to(dtype), nearby(motion, 0).to(source.to(dtype))
    refined = REFINERS[name](source.to(dtype), target, starts)
    assert worst(refined.matrix.double(), motion.matrix.expand(3, 4, 4)) < EXACT_FIT[dtype]


@pytest.mark.parametrize("name", REFINERS)
def test_poses_of_different_samplings_come_closer(name: str) -> None:
    source, target, motion = chair(400, 300)
    starts = nearby(motion, 1)
    refined = REFINERS[name](source, target, starts)
    truth = motion[None]
    assert rotation_error_deg(refined, truth).max() < 4
    assert bool((rotation_error_deg(refined, truth) < rotation_error_deg(starts, truth)).all())
    before, after = (chamfer_squared(each.apply(source), target.expand(3, -1, -1)) for each in (starts, refined))
    assert bool((after < before).all())


@pytest.mark.parametrize("name", REFINERS)
def test_refinement_follows_the_clouds(name: str) -> None:
    source, target, motion = chair(150, 120)
    starts, turn = nearby(motion, 2), random_motion(9)
    refined = REFINERS[name](source, target, starts)
    of_target = REFINERS[name](source, turn.apply(target), turn[None] @ starts)
    assert worst(of_target.matrix, (turn[None] @ refined).matrix) < 1e-9
    of_source = REFINERS[name](turn.apply(source), target, starts @ turn[None].inverse())
    assert worst((of_source @ turn[None]).matrix, refined.matrix) < 1e-9


@pytest.mark.parametrize("name", REFINERS)
def test_far_clouds_are_refined_like_near_ones(name: str) -> None:
    source, target, motion = chair(150, 120)
    starts = nearby(motion, 2)
    far = RigidTransform(torch.eye(3, dtype=torch.float64), torch.tensor([50.0, -80.0, 30.0], dtype=torch.float64))
    refined = REFINERS[name](source, target, starts)
    moved = REFINERS[name](far.apply(source), target, starts @ far[None].inverse())
    assert worst((moved @ far[None]).matrix, refined.matrix) < 1e-7


@pytest.mark.parametrize("name", REFINERS)
def test_every_pose_and_every_pair_is_refined_on_its_own(name: str) -> None:
    pairs = [chair(120, 100, seed) for seed in (0, 10)]
    starts = [nearby(motion, 3) for _, _, motion in pairs]
    sources, targets = torch.stack([pair[0] for pair in pairs]), torch.stack([pair[1] for pair in pairs])
    rotations, shifts = (
        torch.stack([each.rotation for each in starts]),
        torch.stack([each.translation for each in starts]),
    )
    batch = RigidTransform(rotations, shifts)
    refined = REFINERS[name](sources, targets, batch)
    for k, (source, target, _) in enumerate(pairs):
        together = REFINERS[name](source, target, starts[k])
        assert worst(refined[k].matrix, together.matrix) < 1e-10
        alone = REFINERS[name](source, target, starts[k][1:2])
        assert worst(alone.matrix[0], together.matrix[1]) < 1e-10


@pytest.mark.parametrize("name", ["point", "huber", "geman-mcclure", "kept", "queries", "gicp"])
@pytest.mark.parametrize(("n", "m"), [(120, 150), (150, 120), (130, 130)])
def test_swapping_the_clouds_inverts_the_poses(name: str, n: int, m: int) -> None:
    source, target, motion = chair(n, m)
    starts = nearby(motion, 4)
    forward, backward = REFINERS[name](source, target, starts), REFINERS[name](target, source, starts.inverse())
    assert worst(backward.inverse().matrix, forward.matrix) < 1e-9


@given(seed=seeds(), dtype=dtypes())
@settings(max_examples=10)
def test_one_step_of_icp_never_lengthens_the_distances_it_paired(seed: int, dtype: torch.dtype) -> None:
    source, target = random_cloud(seed, 40, dtype=dtype), random_cloud(seed + 1, 50, dtype=dtype)
    pose, lengths = random_motion(seed, 4, dtype=dtype), []
    for _ in range(6):
        moved = pose.apply(source)
        lengths.append(torch.cdist(moved, target.expand(4, -1, -1)).amin(-1).square().mean(-1))
        pose = refine_icp(source, target, pose, IcpSettings(iterations=1, two_sided=False))
    length = torch.stack(lengths)
    assert bool((length[1:] <= length[:-1] * (1 + 1e-4)).all())


def test_a_robust_kernel_locks_onto_shared_points() -> None:
    source, other, motion = chair(200, 100)
    target = torch.cat([motion.apply(source[:120]), other])
    starts = nearby(motion, 5, size=0.03)
    robust = refine_icp(source, target, starts, replace(POINT, kernel=Kernel.GEMAN_MCCLURE, iterations=100))
    plain = refine_icp(source, target, starts, replace(POINT, iterations=100))
    assert rotation_error_deg(robust, motion[None]).max() < 0.1
    assert rotation_error_deg(plain, motion[None]).min() > 0.1


def test_trimming_holds_against_a_part_that_only_one_cloud_has() -> None:
    source, _, motion = chair(300, 10)
    target = motion.apply(source)
    cropped = source[source[:, 2] > source[:, 2].quantile(0.3)]
    starts = nearby(motion, 6, size=0.05)
    # Half, although 70 % overlap: the partners nearest to the missing part are wrong, and not the farthest.
    trimmed = refine_icp(cropped, target, starts, replace(POINT, kept=0.5))
    plain = refine_icp(cropped, target, starts, POINT)
    assert rotation_error_deg(trimmed, motion[None]).max() < 1e-6
    assert rotation_error_deg(plain, motion[None]).min() > 1e-3


def test_planes_are_followed_on_smooth_surfaces_without_shared_points() -> None:
    errors = {"plane": 0.0, "point": 0.0}
    truth = RigidTransform.identity(torch.zeros(3).double())
    for seed in range(3):
        shape = make_shape("blob", generator=generator(seed))
        source, target = (shape.sample(500, generator=generator(seed + k)) for k in (1, 2))
        for name in errors:
            refined = REFINERS[name](source, target, nearby(truth, seed))
            errors[name] += float(rotation_error_deg(refined, truth[None]).mean())
    assert errors["plane"] < 0.2 * errors["point"]


@pytest.mark.parametrize("factor", [0.8, 1.25])
@pytest.mark.parametrize("residual", list(Residual))
def test_a_scale_is_found_with_the_pose(factor: float, residual: Residual) -> None:
    source, _, motion = chair(300, 10)
    starts = nearby(motion, 8, size=0.03)
    starts = RigidTransform(starts.rotation, starts.translation, torch.full((3,), factor, dtype=torch.float64))
    truth = RigidTransform(motion.rotation, motion.translation, torch.tensor(factor * 1.04, dtype=torch.float64))
    refined = refine_icp(source, truth.apply(source), starts, IcpSettings(residual=residual, allow_scale=True))
    assert worst(refined.matrix, truth.matrix.expand(3, 4, 4)) < 1e-6


@pytest.mark.parametrize("kernel", list(Kernel))
def test_kernels_never_count_a_farther_pair_more(kernel: Kernel) -> None:
    weights = kernel_weights(torch.tensor([0.0, 0.5, 1.0, 1.0, 2.0, 9.0]), kernel)
    assert bool((weights[1:] <= weights[:-1]).all())
    assert float(weights[0]) == 1
    assert bool(kernel_weights(torch.zeros(4), kernel).isfinite().all())


@pytest.mark.parametrize("n", [120, 450])
def test_a_wrong_refiner_is_not_accepted(n: int, monkeypatch: pytest.MonkeyPatch) -> None:
    source, target, motion = chair(n, n)
    wrong = RigidTransform.stack([random_motion(77), random_motion(78)])
    monkeypatch.setattr(refine, "refine_icp", lambda *_: wrong)
    monkeypatch.setattr(refine, "refine_gicp", lambda *_: wrong)
    starts = RigidTransform.stack([motion, motion])
    assert torch.equal(polish(source, target, starts).matrix, starts.matrix)
    assert torch.equal(polish(source, target, starts, allow_scale=True).matrix, starts.matrix)


@pytest.mark.parametrize("n", [120, 450])
@pytest.mark.parametrize("allow_scale", [False, True])
def test_polish_never_makes_the_score_worse(n: int, allow_scale: bool) -> None:
    source, target, motion = chair(n, n)
    starts = RigidTransform.concatenate([nearby(motion, 0), random_motion(5, 4)])
    polished = polish(source, target, starts, allow_scale=allow_scale)
    measure = SURFACE if n >= refine.DENSE_POINTS and not allow_scale else NEAREST
    before, after = (score_poses(source, target, poses, measure) for poses in (starts, polished))
    assert bool((after <= before + (0.1 if allow_scale else 1e-12)).all())
    assert after[:3].max() < before[:3].min()


def test_keep_better_chooses_pose_by_pose(monkeypatch: pytest.MonkeyPatch) -> None:
    start, refined = random_motion(0, 3), random_motion(1, 3, scaled=True)
    cloud, scores = random_cloud(0, 10), torch.tensor([1.0, 1.0, 1.0, 0.5, 1.0, 2.0])
    monkeypatch.setattr(refine, "score_poses", lambda *_: scores)
    kept = keep_better(cloud, cloud, start, refined, NEAREST)
    assert torch.equal(kept.matrix, torch.stack([refined.matrix[0], start.matrix[1], start.matrix[2]]))


@pytest.mark.parametrize("n", [3, 5, 10])
def test_tiny_clouds_are_refined_without_a_word(n: int, capfd: pytest.CaptureFixture[str]) -> None:
    source, motion = random_cloud(0, n), random_motion(0)
    refined = refine_gicp(source, motion.apply(source), nearby(motion, 0, size=0.01), GicpSettings())
    assert worst(refined.matrix, motion.matrix.expand(3, 4, 4)) < 1e-9
    assert capfd.readouterr() == ("", "")
