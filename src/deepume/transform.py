"""Rigid motions: ``target ~ scale * source @ R.mT + t``, with names that cancel when composed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool, Float
from torch import Tensor

from deepume.errors import DeepumeError

Points = Float[Tensor, "*batch N 3"]
"""A cloud, or a batch of clouds with the same number of points."""
Source = Float[Tensor, "*batch N 3"]
"""The cloud that moves."""
Target = Float[Tensor, "*batch M 3"]
"""The cloud that stays; its size may differ from the source's."""
Rotations = Float[Tensor, "*batch 3 3"]
"""Proper rotations: orthonormal, determinant +1."""
Vectors = Float[Tensor, "*batch 3"]
"""Translations, axes, centroids."""


@dataclass(frozen=True, slots=True)
class RigidTransform:
    """A motion or a batch of motions: a proper rotation, a translation, a scale that is 1 unless wanted.

    Named by where it leads: ``target_from_source``. Composition cancels names:
    ``c_from_a = c_from_b @ b_from_a``.
    """

    rotation: Rotations
    """``R``, proper: ``det R = +1``."""
    translation: Vectors
    """``t``, in the unit of the target."""
    scale: Float[Tensor, "*#batch"] = field(default_factory=lambda: torch.tensor(1.0, dtype=torch.float64))
    """Target lengths over source lengths; exactly 1 for rigid motions."""

    @classmethod
    def identity(cls, dtype: torch.dtype = torch.float64, device: torch.device | None = None) -> RigidTransform:
        """The motion that leaves every point where it is."""
        return cls(torch.eye(3, dtype=dtype, device=device), torch.zeros(3, dtype=dtype, device=device))

    @classmethod
    def from_matrix(cls, matrix: Float[Tensor, "*batch 4 4"]) -> RigidTransform:
        """Read a 4 x 4 homogeneous matrix; its upper left block is a rotation times a positive scale."""
        block = matrix[..., :3, :3]
        volume = torch.linalg.det(block)
        if not bool((volume > 0).all()):
            raise DeepumeError("A motion has a positive determinant; this matrix mirrors, flattens or is not finite.")
        scale = volume ** (1 / 3)
        return cls(block / scale[..., None, None], matrix[..., :3, 3], scale)

    @classmethod
    def stack(cls, motions: Sequence[RigidTransform]) -> RigidTransform:
        """Motions side by side along a new last batch axis."""
        return cls.concatenate([each[..., None] for each in motions])

    @classmethod
    def concatenate(cls, motions: Sequence[RigidTransform]) -> RigidTransform:
        """Motions one after the other along the last batch axis."""
        return cls(
            torch.cat([each.rotation for each in motions], -3),
            torch.cat([each.translation for each in motions], -2),
            torch.cat([each._scale.expand(each.rotation.shape[:-2]) for each in motions], -1),
        )

    @staticmethod
    def where(condition: Bool[Tensor, "*batch"], yes: RigidTransform, no: RigidTransform) -> RigidTransform:
        """``yes`` where the condition holds, ``no`` elsewhere."""
        return RigidTransform(
            torch.where(condition[..., None, None], yes.rotation, no.rotation),
            torch.where(condition[..., None], yes.translation, no.translation),
            torch.where(condition, yes._scale, no._scale),
        )

    @property
    def matrix(self) -> Float[Tensor, "*batch 4 4"]:
        """The 4 x 4 homogeneous matrix with the scale applied; acts on column vectors."""
        matrix = self.rotation.new_zeros(*self.rotation.shape[:-2], 4, 4)
        matrix[..., :3, :3] = self._block
        matrix[..., :3, 3] = self.translation
        matrix[..., 3, 3] = 1
        return matrix

    def inverse(self) -> RigidTransform:
        """``source_from_target``."""
        back = self.rotation.mT
        translation = -(self.translation[..., None, :] @ self.rotation).squeeze(-2) / self._scale[..., None]
        return RigidTransform(back, translation, 1 / self.scale)

    def apply(self, points: Float[Tensor, "... N 3"]) -> Float[Tensor, "... N 3"]:
        """Move points: ``scale * points @ R.mT + t``. Batches broadcast."""
        return points @ self._block.mT + self.translation[..., None, :]

    def __matmul__(self, other: RigidTransform) -> RigidTransform:
        moved = self.apply(other.translation[..., None, :]).squeeze(-2)
        return RigidTransform(self.rotation @ other.rotation, moved, self.scale * other.scale)

    def __getitem__(self, index: Any) -> RigidTransform:
        """Members of a batch of motions; the index speaks of batch axes only."""
        index = index if isinstance(index, tuple) else (index,)
        scale = self.scale[index] if self.scale.dim() else self.scale
        return RigidTransform(self.rotation[*index, :, :], self.translation[*index, :], scale)

    def to(self, like: Tensor) -> RigidTransform:
        """The same motion in the dtype and on the device of a tensor."""
        return RigidTransform(self.rotation.to(like), self.translation.to(like), self.scale.to(like))

    def numpy(self) -> np.ndarray:
        """The 4 x 4 matrix as a float64 NumPy array."""
        return self.matrix.detach().to("cpu", torch.float64).numpy()

    @property
    def _scale(self) -> Tensor:
        return self.scale.to(self.rotation)

    @property
    def _block(self) -> Tensor:
        return self._scale[..., None, None] * self.rotation


def rigid_motion(rotation: Rotations, translation: Vectors) -> RigidTransform:
    """A motion whose scale is a constant on the device of the rotation: a transfer would halt the GPU."""
    return RigidTransform(rotation, translation, torch.ones_like(translation[..., 0]))


def motion_between(
    source: Float[Tensor, "*#batch 3"], target: Float[Tensor, "*#batch 3"], rotation: Float[Tensor, "*#batch 3 3"]
) -> RigidTransform:
    """The motion with this rotation that carries one point to the other: ``t = target - R source``."""
    return rigid_motion(rotation, target - (rotation @ source.unsqueeze(-1)).squeeze(-1))


def rotation_from_vector(vector: Vectors) -> Rotations:
    """Rotation by ``|vector|`` radians about ``vector`` (the exponential map), smooth at zero."""
    return torch.linalg.matrix_exp(cross_matrix(vector))


def move_covariance(
    covariance: Float[Tensor, "*batch 6 6"], moved_from_original: RigidTransform
) -> Float[Tensor, "*batch 6 6"]:
    """Covariance of a pose (rotation vector, translation; perturbation on the left) seen from another frame.

    A turn w and a shift v there are a turn R w and a shift ``scale R v + t x R w`` here.
    """
    R, t = moved_from_original.rotation, moved_from_original.translation
    change = torch.zeros_like(covariance)
    change[..., :3, :3] = R
    change[..., 3:, :3] = cross_matrix(t) @ R
    change[..., 3:, 3:] = moved_from_original.scale.to(R)[..., None, None] * R
    return change @ covariance @ change.mT


def cross_matrix(vector: Vectors) -> Float[Tensor, "*batch 3 3"]:
    """The matrix of the cross product: ``cross_matrix(a) @ b == a x b``."""
    x, y, z = vector.unbind(-1)
    zero = torch.zeros_like(x)
    return torch.stack([zero, -z, y, z, zero, -x, -y, x, zero], -1).unflatten(-1, (3, 3))


def rotation_about_axis(axis: int, angle: Float[Tensor, "*batch"]) -> Rotations:
    """Rotation by ``angle`` radians about coordinate axis 0, 1 or 2."""
    unit = torch.zeros(3, dtype=angle.dtype, device=angle.device)
    unit[axis] = 1
    return rotation_from_vector(angle[..., None] * unit)


def rotation_from_quaternion(quaternion: Float[Tensor, "*batch 4"]) -> Rotations:
    """Rotation of a quaternion (w, x, y, z) of any length but zero."""
    w, x, y, z = (quaternion / quaternion.norm(dim=-1, keepdim=True)).unbind(-1)
    rows = [
        1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y),
        2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x),
        2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y),
    ]  # fmt: skip
    return torch.stack(rows, -1).unflatten(-1, (3, 3))


def random_rotation(*batch: int, generator: torch.Generator, dtype: torch.dtype = torch.float64) -> Rotations:
    """Rotations uniform over SO(3) (the Haar law): normalized Gaussian quaternions."""
    quaternion = torch.randn(*batch, 4, generator=generator, dtype=dtype, device=generator.device)
    return rotation_from_quaternion(quaternion)


def rotation_angle(rotation: Rotations) -> Float[Tensor, "*batch"]:
    """Angle in radians by which a rotation turns, accurate at 0 and at 180 degrees.

    The antisymmetric part carries the sine, exact where the cosine is flat; the trace carries the cosine.
    """
    sine = torch.linalg.vector_norm(rotation - rotation.mT, dim=(-2, -1)) / 8**0.5
    cosine = (rotation.diagonal(dim1=-2, dim2=-1).sum(-1) - 1) / 2
    return torch.atan2(sine, cosine)
