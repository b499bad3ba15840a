"""Moments of noisy copies: laws of the pose, what it gains, the noise, and what is no copy."""

import pytest
import torch
from hypothesis import given
from torch import Tensor

from deepume.alignment.noisy_copies import TRUST, refine_copy
from deepume.datasets import Law, PairKey, ProceduralSet, Scenario, make_pair
from deepume.geometry.rotation import geodesic_angle, solve_motion
from deepume.transform import RigidTransform, random_rotation, rotation_from_vector
from strategies import batch_shapes, generator, random_cloud, random_motion, seeds, worst


def beside(pose: RigidTransform, seed: int, off: float = 0.02) -> RigidTransform:
    """The pose turned by so many radians."""
    turn = torch.nn.functional.normalize(torch.randn(3, generator=generator(seed), dtype=torch.float64), dim=-1)
    return RigidTransform(rotation_from_vector(off * turn) @ pose.rotation, pose.translation)


def noisy_copy(seed: int, count: int, noise: float, *batch: int) -> tuple[Tensor, Tensor, RigidTransform]:
    source, motion = random_cloud(seed, *batch, count), random_motion(seed, *batch)
    draws = torch.randn(source.shape, generator=generator(seed + 1), dtype=torch.float64)
    return source, motion.apply(source) + noise * draws, motion


def angle(pose: RigidTransform, other: RigidTransform) -> Tensor:
    return geodesic_angle(pose.rotation, other.rotation)


@given(seed=seeds(), batch=batch_shapes())
def test_copies_that_lie_on_each_other_stay_and_others_are_brought_there(seed, batch):
    source, target, motion = noisy_copy(seed, 80, 0.0, *batch)
    there = refine_copy(source, target, motion)
    assert float(angle(there.pose, motion).max()) < 1e-9
    assert float(there.noise.max()) < 1e-9
    assert bool((angle(refine_copy(source, target, beside(motion, seed)).pose, motion) < 0.02 / 2).all())


@given(seed=seeds())
def test_moving_either_cloud_moves_the_answer(seed):
    source, target, motion = noisy_copy(seed, 80, 0.02)
    start, first, second = beside(motion, seed), random_motion(seed + 1), random_motion(seed + 2)
    before = refine_copy(source, target, start)
    after = refine_copy(first.apply(source), second.apply(target), second @ start @ first.inverse())
    assert worst(after.pose.matrix, (second @ before.pose @ first.inverse()).matrix) < 1e-8
    order = torch.randperm(80, generator=generator(seed))
    assert worst(refine_copy(source[order], target, start).pose.matrix, before.pose.matrix) < 1e-9


def test_a_batch_is_its_members():
    source, target, motion = noisy_copy(0, 80, 0.02, 3)
    start = beside(motion, 0)
    together = refine_copy(source, target, start)
    for k in range(3):
        single = refine_copy(source[k], target[k], start[k])
        assert worst(together.pose.matrix[k], single.pose.matrix) < 1e-10
        assert worst(together.noise[k], single.noise) < 1e-10


@pytest.mark.parametrize("noise", [0.005, 0.03])
def test_poses_as_far_off_as_is_supposed_come_a_third_nearer_and_the_noise_is_told(noise):
    draws = [noisy_copy(seed, 300, noise) for seed in range(40)]
    known = [solve_motion(source, target) for source, target, _ in draws]
    exact = torch.stack([angle(pose, motion) for pose, (*_, motion) in zip(known, draws, strict=True)])
    off = float(exact.square().mean().sqrt()) * (TRUST - 1) ** 0.5
    starts = [beside(pose, seed, off) for seed, pose in enumerate(known)]
    found = [refine_copy(*draw[:2], start) for draw, start in zip(draws, starts, strict=True)]

    def miss(poses: list[RigidTransform]) -> float:
        angles = [angle(pose, motion) for pose, (*_, motion) in zip(poses, draws, strict=True)]
        return float(torch.stack(angles).square().mean().sqrt())

    assert miss([each.pose for each in found]) < miss(starts) / 1.5
    spread = random_cloud(0, 300) - random_cloud(0, 300).mean(0)
    radius = float(spread.square().sum(-1).mean().sqrt())
    assert float(torch.stack([each.noise for each in found]).median()) == pytest.approx(noise / radius, rel=0.2)
    assert all(bool(each.believed) for each in found)


@pytest.mark.parametrize("points", [100, 1000])
@pytest.mark.parametrize("scenario", [Scenario.ZERO, Scenario.ZERO_NOISE, Scenario.PAPER_TRAINING, Scenario.DENSITY])
def test_other_samplings_are_no_copies(scenario, points):
    dataset = ProceduralSet(seed=3)
    for index in range(0, 48, 6):
        pair = make_pair(dataset, PairKey(dataset.name, scenario, Law.HAAR, points, index))
        assert not bool(refine_copy(pair.source, pair.target, pair.target_from_source).believed)


def test_a_flat_cloud_and_a_symmetric_one_have_a_pose():
    plate = random_cloud(4, 60) * torch.tensor([1.0, 1.0, 0.0], dtype=torch.float64)
    ring = torch.linspace(0, 2 * torch.pi, 61, dtype=torch.float64)[:-1]
    for source in (plate, torch.stack([ring.cos(), ring.sin(), torch.zeros(60)], -1)):
        motion = RigidTransform(random_rotation(generator=generator(5)), torch.ones(3, dtype=torch.float64))
        found = refine_copy(source, motion.apply(source), beside(motion, 6))
        assert bool(found.pose.matrix.isfinite().all())
        assert worst(found.pose.rotation.det(), torch.ones((), dtype=torch.float64)) < 1e-9


@pytest.mark.parametrize("count", [3, 8, 12, 20])
def test_few_points_that_do_not_belong_together_are_no_copies(count):
    for seed in range(10):
        source, target = random_cloud(seed, count), random_cloud(seed + 100, count)
        found = refine_copy(source, target, RigidTransform.identity(source))
        assert bool(found.pose.matrix.isfinite().all())
        assert not bool(found.believed)


@pytest.mark.parametrize("size", [1e-100, 1e-6, 1e6, 1e100])
def test_clouds_of_another_size_are_no_copies(size):
    source, target, motion = noisy_copy(7, 50, 0.0)
    assert not bool(refine_copy(source, size * target, motion).believed)
