import numpy as np
import pytest
import torch
from hypothesis import given

from deepume.geometry.frames import (
    axis_exchanges,
    frame_poses,
    frame_rotations,
    paper_sign_changes,
    poses_about,
    principal_frame,
    sign_changes,
    signed_permutations,
)
from deepume.geometry.rotation import geodesic_angle
from deepume.geometry.rotation_grids import rotation_grid
from deepume.transform import random_rotation
from strategies import batch_shapes, dtypes, generator, random_cloud, random_motion, seeds, worst
from tolerances import SPECTRUM

Batch = tuple[int, ...]


def members(group: np.ndarray) -> set[tuple[float, ...]]:
    return {tuple((each + 0.0).ravel().tolist()) for each in group}


@pytest.mark.parametrize(
    ("make", "order", "proper"),
    [
        (sign_changes, 4, True),
        (axis_exchanges, 24, True),
        (paper_sign_changes, 8, False),
        (signed_permutations, 48, False),
    ],
)
def test_exchanges_of_axes_are_groups(make, order: int, proper: bool) -> None:
    group = make()
    assert len(members(group)) == len(group) == order
    products = (group[:, None] @ group[None]).reshape(-1, 3, 3)
    assert members(products) == members(group) == members(group.mT)
    signs = np.linalg.det(group)
    assert signs.sum() == pytest.approx(order if proper else 0)
    if proper:
        assert np.array_equal(group[0], np.eye(3))


def test_the_smaller_groups_are_in_the_larger() -> None:
    assert members(sign_changes()) < members(axis_exchanges()) < members(signed_permutations())
    assert members(sign_changes()) < members(paper_sign_changes()) < members(signed_permutations())


@given(seed=seeds(), batch=batch_shapes(), dtype=dtypes())
def test_one_pairing_of_the_frames_is_the_motion_itself(seed: int, batch: Batch, dtype: torch.dtype) -> None:
    points, motion = random_cloud(seed, *batch, 400, dtype=dtype), random_motion(seed, *batch, dtype=dtype)
    source, target = principal_frame(points), principal_frame(motion.apply(points))
    poses = frame_poses(source, target, axis_exchanges())
    assert poses.rotation.shape == (*batch, 24, 3, 3)
    assert worst(poses[..., 0].rotation, motion.rotation) < SPECTRUM[dtype]
    assert worst(poses[..., 0].apply(points), motion.apply(points)) < 3 * SPECTRUM[dtype]
    backward = frame_rotations(target, source, axis_exchanges().mT)
    assert worst(backward.mT, poses.rotation) < SPECTRUM[dtype]


@given(seed=seeds(), batch=batch_shapes())
def test_poses_carry_one_origin_to_the_other(seed: int, batch: Batch) -> None:
    rotations = random_rotation(*batch, 5, generator=generator(seed))
    source, target = random_cloud(seed, *batch), random_cloud(seed + 1, *batch)
    poses = poses_about(rotations, source, target)
    carried = poses.apply(source[..., None, None, :]).squeeze(-2)
    assert worst(carried, target.unsqueeze(-2).expand_as(carried)) < 1e-12


@pytest.mark.parametrize(("count", "covering_deg"), [(72, 58), (300, 36)])
def test_the_grid_covers_all_rotations(count: int, covering_deg: float) -> None:
    grid = rotation_grid(count)
    assert grid.shape == (count, 3, 3)
    assert worst(grid @ grid.mT, np.broadcast_to(np.eye(3), grid.shape)) < 1e-12
    assert worst(grid[0], np.eye(3)) < 1e-12
    queries = random_rotation(3000, generator=generator(0)).numpy()
    nearest = np.rad2deg(geodesic_angle(queries[:, None], grid).min(-1))
    assert nearest.max() < covering_deg
    between = geodesic_angle(grid[:, None], grid) + 4 * np.eye(count)
    assert np.rad2deg(between.min()) > covering_deg / 3
