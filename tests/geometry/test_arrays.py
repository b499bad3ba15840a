"""Geometry is written once: NumPy arrays and torch tensors give the same numbers, and tensors keep their gradients."""

from collections.abc import Callable

import numpy as np
import pytest
import torch
from torch import Tensor

from deepume import RigidTransform
from deepume.alignment.nearest_points import IcpSettings, Kernel, Residual, align_nearest
from deepume.alignment.ranking import best_distinct, distinct_mask
from deepume.alignment.score import NEAREST, SURFACE, Fit
from deepume.arrays import Array, as_like, to_doubles
from deepume.geometry.clouds import center, rms_radius, subsample_farthest
from deepume.geometry.frames import axis_exchanges, frame_poses, principal_frame, principal_variances
from deepume.geometry.rotation import geodesic_angle, middle_pose, rotation_is_determined, solve_motion, solve_rotation
from deepume.geometry.searchable import IndexedCloud, TensorCloud
from deepume.transform import (
    move_covariance,
    rotation_angle,
    rotation_from_quaternion,
    rotation_from_vector,
)
from framed_pairs import as_arrays
from strategies import random_cloud, random_motion, worst
from tolerances import SPECTRUM

FUNCTIONS: dict[str, Callable[[Array, Array], Array]] = {
    "center": lambda source, _: center(source),
    "rms_radius": lambda source, _: rms_radius(source),
    "subsample_farthest": lambda source, _: subsample_farthest(source, 9),
    "principal axes": lambda source, _: principal_frame(source).axes,
    "about the middle": lambda source, _: principal_frame(source).about_middle(source).centroid,
    "principal_variances": lambda source, _: principal_variances(source),
    "frame_poses": lambda source, target: (
        frame_poses(principal_frame(source), principal_frame(target), axis_exchanges()).matrix
    ),
    "solve_rotation": lambda source, target: solve_rotation(source, target),
    "solve_motion": lambda source, target: solve_motion(source, target).matrix,
    "solve a similarity": lambda source, target: solve_motion(source, target, allow_scale=True).matrix,
    "is determined": lambda source, target: as_like(rotation_is_determined(source.mT @ target), source),
    "rotation_from_vector": lambda source, _: rotation_from_vector(source),
    "rotation_angle": lambda source, _: rotation_angle(rotation_from_vector(source)),
    "geodesic_angle": lambda source, target: geodesic_angle(rotation_from_vector(source), rotation_from_vector(target)),
    "rotation_from_quaternion": lambda source, _: rotation_from_quaternion(source.reshape(-1, 4)),
    "inverse": lambda source, target: (solve_motion(source, target).inverse() @ solve_motion(target, source)).matrix,
    "move_covariance": lambda source, target: move_covariance(
        as_like(np.eye(6), source), solve_motion(source[0], target[0], allow_scale=True)
    ),
    "middle_pose": lambda source, target: (
        middle_pose(solve_motion(source, target), solve_motion(target, source)).matrix
    ),
}


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_arrays_and_tensors_give_the_same(name: str, dtype: torch.dtype) -> None:
    source, target = random_cloud(0, 2, 16, dtype=dtype), random_cloud(1, 2, 16, dtype=dtype)
    of_tensors, of_arrays = FUNCTIONS[name](source, target), FUNCTIONS[name](source.numpy(), target.numpy())
    assert isinstance(of_tensors, Tensor)
    assert isinstance(of_arrays, np.ndarray)
    assert of_arrays.dtype == source.numpy().dtype
    assert worst(of_tensors, of_arrays) < SPECTRUM[dtype]


@pytest.mark.parametrize("measure", [NEAREST, SURFACE])
def test_a_fit_has_one_score(measure) -> None:
    source, target, poses = random_cloud(0, 60), random_cloud(1, 50), random_motion(2, 4)
    tensors = Fit.of(TensorCloud.for_poses(source), TensorCloud.for_poses(target), poses).by(measure)
    arrays = Fit.of(IndexedCloud(source.numpy()), IndexedCloud(target.numpy()), as_arrays(poses)).by(measure)
    assert worst(tensors, arrays) < 1e-6


@pytest.mark.parametrize("residual", Residual)
@pytest.mark.parametrize("kernel", Kernel)
def test_nearest_points_end_at_one_pose(residual: Residual, kernel: Kernel) -> None:
    source, poses = random_cloud(0, 60), random_motion(2, 3)
    target = random_motion(2).apply(random_cloud(0, 50))
    settings = IcpSettings(iterations=5, residual=residual, kernel=kernel)
    tensors = align_nearest(TensorCloud.for_poses(source), TensorCloud.for_poses(target), poses, settings)
    arrays = align_nearest(IndexedCloud(source.numpy()), IndexedCloud(target.numpy()), as_arrays(poses), settings)
    assert worst(tensors.matrix, arrays.matrix) < 1e-9


def test_poses_have_one_order() -> None:
    poses, scores = random_motion(0, 12), torch.arange(12, dtype=torch.float64).sin()
    arrays, numbers = as_arrays(poses), scores.numpy()
    assert np.array_equal(distinct_mask(poses.rotation, scores, 1.0), distinct_mask(arrays.rotation, numbers, 1.0))
    assert worst(best_distinct(poses, scores, 5).matrix, best_distinct(arrays, numbers, 5).matrix) == 0


def test_a_motion_moves_points_of_either_kind() -> None:
    points, motion = random_cloud(0, 9), random_motion(1, scaled=True)
    moved = motion.apply(points)
    assert worst(motion.apply(points.numpy()), moved) < 1e-12
    assert worst(as_arrays(motion).apply(points), moved) < 1e-12
    assert isinstance(motion.apply(points.numpy()), np.ndarray)
    assert isinstance(as_arrays(motion).apply(points), Tensor)
    assert np.array_equal(np.asarray(motion), motion.numpy())


def test_gradients_flow_through_what_networks_use() -> None:
    vector = torch.zeros(3, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(rotation_from_vector, vector)
    points = random_cloud(0, 8).requires_grad_()
    assert torch.autograd.gradcheck(lambda each: solve_rotation(each, random_cloud(1, 8)), points)
    assert torch.autograd.gradcheck(lambda each: RigidTransform(rotation_from_vector(each[0]), each[1]).matrix, points)
    assert to_doubles(points).shape == (8, 3)
