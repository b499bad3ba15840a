import math

import pytest
import torch
from hypothesis import given
from torch import Tensor

from deepume.geometry.rotation import geodesic_angle
from deepume.geometry.unit_sphere import to_unit_pair
from deepume.networks.compared.pointnetlk import PointNetLK, PointNetLKConfig, _normal_solver, _small_motion
from deepume.transform import rotation_from_vector
from network_files import random_network
from pairs import skewed_cloud
from strategies import generator, seeds, worst


class Moments(torch.nn.Module):
    """A feature on which Lucas-Kanade must succeed: smooth functions of the points, averaged."""

    def frozen(self, points: Tensor) -> Tensor:
        rows = torch.cat([points, points.square(), (2 * points).sin(), points.roll(1, -1) * points], -1)
        return rows.mean(-2)

    forward = frozen


def with_feature(feature: torch.nn.Module, **settings) -> PointNetLK:
    network = PointNetLK(PointNetLKConfig(widths=(8, 8), **settings)).eval()
    network.describe = feature  # pyright: ignore
    return network


@pytest.mark.parametrize("angle_deg", [5, 20, 40])
def test_a_smooth_feature_gives_the_motion_exactly(angle_deg: float) -> None:
    source = skewed_cloud(80, seed=3)
    axis = torch.nn.functional.normalize(torch.tensor([1.0, -2.0, 0.5], dtype=torch.float64), dim=-1)
    rotation = rotation_from_vector(math.radians(angle_deg) * axis)
    target = source @ rotation.mT + 0.7
    pose = with_feature(Moments(), iterations=30)(source, target).target_from_source
    assert float(geodesic_angle(pose.rotation, rotation)) < 1e-6
    assert worst(pose.translation, torch.full((3,), 0.7)) < 1e-6


def test_the_jacobian_is_the_derivative_of_the_feature_of_the_moved_target() -> None:
    cloud, network = to_unit_pair(*[skewed_cloud(50, seed=1)] * 2).target, with_feature(Moments(), step=1e-5)
    jacobian = network._jacobian(cloud, network.describe.frozen(cloud))  # pyright: ignore

    def feature(twist: Tensor) -> Tensor:
        motion = _small_motion(twist)
        return network.describe.frozen(cloud @ motion.rotation.mT + motion.translation)  # pyright: ignore

    exact = torch.autograd.functional.jacobian(feature, 1e-9 * torch.ones(6, dtype=torch.float64))
    assert worst(jacobian, exact) < 1e-4


def rotation_of(vector: torch.Tensor) -> torch.Tensor:
    return _small_motion(torch.cat([vector, torch.zeros_like(vector)], -1)).rotation


@given(seed=seeds())
def test_rotations_by_quaternion_equal_the_exponential(seed: int) -> None:
    vectors = torch.randn(5, 3, generator=generator(seed), dtype=torch.float64)
    vectors[0] = 0
    assert worst(rotation_of(vectors), rotation_from_vector(vectors)) < 1e-12


def test_no_motion_has_a_finite_gradient() -> None:
    vector = torch.zeros(3, dtype=torch.float64, requires_grad=True)
    rotation_of(vector)[0, 1].backward()
    assert vector.grad is not None
    assert worst(vector.grad, torch.tensor([0.0, 0.0, -1.0])) < 1e-12


@given(seed=seeds())
def test_the_solver_is_the_pseudo_inverse_and_survives_a_blind_feature(seed: int) -> None:
    jacobian = torch.randn(2, 30, 6, generator=generator(seed), dtype=torch.float64)
    assert worst(_normal_solver(jacobian), torch.linalg.pinv(jacobian)) < 1e-4
    assert bool(torch.isfinite(_normal_solver(jacobian * torch.tensor([1.0, 1, 1, 1, 1, 0]))).all())
    assert bool(torch.isfinite(_normal_solver(0 * jacobian)).all())


def test_training_updates_the_statistics_once_and_aligns_with_them_frozen() -> None:
    network = random_network("pointnetlk").train()
    assert isinstance(network, PointNetLK)
    source, target = (skewed_cloud(3, 40, seed=seed, dtype=torch.float32) for seed in (1, 2))
    seen = network.get_buffer("describe.layers.0.norm.num_batches_tracked")
    trained = network(source, target)
    assert int(seen) == 2
    again = network.eval()(source, target)
    assert worst(trained.residual, again.residual) < 1e-5
