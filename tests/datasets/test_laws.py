import math

import pytest
import torch
from torch import Tensor

from deepume.datasets.pairs.laws import Law, draw_motion, draw_rotation, rotation_from_euler
from deepume.transform import rotation_about_axis


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def angles_deg(rotation: Tensor) -> Tensor:
    cosine = (rotation.diagonal(dim1=-2, dim2=-1).sum(-1) - 1) / 2
    return torch.rad2deg(cosine.clamp(-1, 1).acos())


def euler_zyx_deg(rotation: Tensor) -> Tensor:
    """Angles of ``Rz Ry Rx``: the order in which the paper's metric decomposes rotations."""
    y = -rotation[..., 2, 0].clamp(-1, 1).asin()
    x = torch.atan2(rotation[..., 2, 1], rotation[..., 2, 2])
    z = torch.atan2(rotation[..., 1, 0], rotation[..., 0, 0])
    return torch.rad2deg(torch.stack([z, y, x], -1))


def euler_xyz(rotation: Tensor) -> Tensor:
    """Angles x, y, z with ``R = Rx Ry Rz``."""
    x = torch.atan2(-rotation[..., 1, 2], rotation[..., 2, 2])
    y = rotation[..., 0, 2].clamp(-1, 1).asin()
    z = torch.atan2(-rotation[..., 0, 1], rotation[..., 0, 0])
    return torch.stack([x, y, z], -1)


@pytest.mark.parametrize("law", list(Law))
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_every_law_draws_proper_rotations(law: Law, dtype: torch.dtype) -> None:
    rotation = draw_rotation(law, 4, 50, generator=generator(), dtype=dtype)
    assert rotation.shape == (4, 50, 3, 3)
    assert rotation.dtype == dtype
    tolerance = 1e-5 if dtype == torch.float32 else 1e-12
    assert (rotation @ rotation.mT - torch.eye(3, dtype=dtype)).abs().max() < tolerance
    assert (torch.linalg.det(rotation) - 1).abs().max() < tolerance


@pytest.mark.parametrize("law", list(Law))
def test_same_seed_same_motion(law: Law) -> None:
    first, second = (draw_motion(law, 5, generator=generator(3)) for _ in range(2))
    assert torch.equal(first.matrix, second.matrix)
    other = draw_motion(law, 5, generator=generator(4))
    assert not torch.equal(first.matrix, other.matrix)


def test_haar_has_the_mean_angle_of_the_uniform_law() -> None:
    angles = angles_deg(draw_rotation(Law.HAAR, 100_000, generator=generator()))
    assert angles.mean().item() == pytest.approx(math.degrees(math.pi / 2 + 2 / math.pi), abs=0.5)


@pytest.mark.parametrize(
    ("law", "expected"),
    [(Law.HAAR, 83.1), (Law.EULER_FULL, 82.4), (Law.PAPER_CODE, 70.9), (Law.EULER_60, 35.9)],
)
def test_identity_scores_the_reference_values_of_the_paper_metric(law: Law, expected: float) -> None:
    angles = euler_zyx_deg(draw_rotation(law, 200_000, generator=generator()))
    assert angles.square().mean(-1).sqrt().mean().item() == pytest.approx(expected, abs=0.25)


@pytest.mark.parametrize(
    ("law", "limits_deg"),
    [(Law.PAPER_CODE, (90, 90, 180)), (Law.EULER_60, (60, 60, 60)), (Law.EULER_45, (45, 45, 45))],
)
def test_euler_laws_fill_their_ranges(law: Law, limits_deg: tuple[float, float, float]) -> None:
    angles = torch.rad2deg(euler_xyz(draw_rotation(law, 20_000, generator=generator())))
    limits = angles.new_tensor(limits_deg)
    assert (angles >= -1e-6).all()
    assert (angles <= limits + 1e-6).all()
    assert (angles.amax(0) > 0.99 * limits).all()
    assert ((angles.mean(0) - limits / 2).abs() < 0.02 * limits).all()


def test_euler_product_is_x_then_y_then_z() -> None:
    angles = torch.rand(7, 3, generator=generator(), dtype=torch.float64)
    x, y, z = (rotation_about_axis(axis, angles[:, axis]) for axis in range(3))
    assert (rotation_from_euler(angles) - x @ y @ z).abs().max() < 1e-12


@pytest.mark.parametrize("law", [law for law in Law if law is not Law.TWIST])
def test_translation_fills_the_cube(law: Law) -> None:
    translation = draw_motion(law, 20_000, generator=generator()).translation
    assert translation.abs().max() <= 0.5
    assert translation.abs().max() > 0.49
    assert translation.mean(0).abs().max() < 0.01
    assert translation.square().mean(-1).sqrt().mean().item() == pytest.approx(0.277, abs=0.005)


def test_twist_is_short_and_its_rotation_comes_first() -> None:
    motion = draw_motion(Law.TWIST, 5_000, generator=generator())
    angles = torch.deg2rad(angles_deg(motion.rotation))
    assert angles.max() <= 0.8 + 1e-6
    assert (angles.square() + motion.translation.square().sum(-1)).sqrt().max() <= 0.8 + 1e-6
    assert (motion.rotation - draw_rotation(Law.TWIST, 5_000, generator=generator())).abs().max() < 1e-12


def test_one_motion_needs_no_batch() -> None:
    motion = draw_motion(Law.HAAR, generator=generator())
    assert motion.rotation.shape == (3, 3)
    assert motion.translation.shape == (3,)
