"""How the true motion of a pair is drawn: one named law per convention in use, never mixed."""

from __future__ import annotations

import math
from enum import StrEnum

import torch
from jaxtyping import Float
from torch import Tensor

from deepume.transform import RigidTransform, Rotations, random_rotation, rotation_from_vector

TWIST_NORM = 0.8
"""Largest length of a twist (rotation vector, translation) under :attr:`Law.TWIST`."""


class Law(StrEnum):
    """How the true rotation is drawn. Euler laws are ``R = Rx(x) Ry(y) Rz(z)``, angles independent."""

    HAAR = "haar"
    """Uniform over SO(3): the default."""
    EULER_FULL = "euler-full"
    """The paper's text: x, y and z uniform over the full circle."""
    PAPER_CODE = "paper-code"
    """The authors' released code: x and y in [0, 90], z in [0, 180] degrees."""
    EULER_60 = "euler-60"
    """Small angles of the paper: x, y and z in [0, 60] degrees."""
    EULER_45 = "euler-45"
    """The usual protocol of the compared networks: x, y and z in [0, 45] degrees."""
    TWIST = "twist"
    """Exponential of a 6-vector of uniform direction and length U[0, 0.8], rotation first."""


_EULER_LIMITS = {
    Law.EULER_FULL: (2 * math.pi, 2 * math.pi, 2 * math.pi),
    Law.PAPER_CODE: (math.pi / 2, math.pi / 2, math.pi),
    Law.EULER_60: (math.pi / 3, math.pi / 3, math.pi / 3),
    Law.EULER_45: (math.pi / 4, math.pi / 4, math.pi / 4),
}


def draw_rotation(law: Law, *batch: int, generator: torch.Generator, dtype: torch.dtype = torch.float64) -> Rotations:
    """Rotations ``(*batch, 3, 3)`` of a law, on the device of the generator."""
    if law is Law.HAAR:
        return random_rotation(*batch, generator=generator, dtype=dtype)
    if law is Law.TWIST:
        return rotation_from_vector(_draw_twist(*batch, generator=generator, dtype=dtype)[..., :3])
    unit = torch.rand(*batch, 3, generator=generator, dtype=dtype, device=generator.device)
    return rotation_from_euler(unit * unit.new_tensor(_EULER_LIMITS[law]))


def draw_motion(
    law: Law, *batch: int, generator: torch.Generator, dtype: torch.dtype = torch.float64
) -> RigidTransform:
    """Motions with a rotation of the law and a translation uniform in [-0.5, 0.5]^3.

    :attr:`Law.TWIST` draws both together, as its networks do: the exponential of one twist.
    """
    if law is Law.TWIST:
        return _motion_from_twist(_draw_twist(*batch, generator=generator, dtype=dtype))
    rotation = draw_rotation(law, *batch, generator=generator, dtype=dtype)
    unit = torch.rand(*batch, 3, generator=generator, dtype=dtype, device=generator.device)
    return RigidTransform(rotation, unit - 0.5)


def rotation_from_euler(angles: Float[Tensor, "*batch 3"]) -> Rotations:
    """``Rx(x) Ry(y) Rz(z)`` of angles ``(x, y, z)`` in radians, written out: no product of matrices."""
    (cx, cy, cz), (sx, sy, sz) = angles.cos().unbind(-1), angles.sin().unbind(-1)
    rows = [
        cy * cz, -cy * sz, sy,
        cx * sz + sx * sy * cz, cx * cz - sx * sy * sz, -sx * cy,
        sx * sz - cx * sy * cz, sx * cz + cx * sy * sz, cx * cy,
    ]  # fmt: skip
    return torch.stack(rows, -1).unflatten(-1, (3, 3))


def _draw_twist(*batch: int, generator: torch.Generator, dtype: torch.dtype) -> Float[Tensor, "*batch 6"]:
    direction = torch.randn(*batch, 6, generator=generator, dtype=dtype, device=generator.device)
    norm = TWIST_NORM * torch.rand(*batch, 1, generator=generator, dtype=dtype, device=generator.device)
    return norm * direction / direction.norm(dim=-1, keepdim=True)


def _motion_from_twist(twist: Float[Tensor, "*batch 6"]) -> RigidTransform:
    """Exponential map of SE(3), as one 4 x 4 matrix exponential."""
    (x, y, z), velocity = twist[..., :3].unbind(-1), twist[..., 3:]
    zero = torch.zeros_like(x)
    cross = torch.stack([zero, -z, y, z, zero, -x, -y, x, zero], -1).unflatten(-1, (3, 3))
    top = torch.cat([cross, velocity[..., None]], dim=-1)
    matrix = torch.linalg.matrix_exp(torch.cat([top, torch.zeros_like(top[..., :1, :])], dim=-2))
    return RigidTransform(matrix[..., :3, :3], matrix[..., :3, 3])
