"""Rigid motions: ``target ~ scale * source @ R.mT + t``, with names that cancel when composed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Bool, Float

from deepume.arrays import Array, Comparable, as_like, namespace
from deepume.errors import DeepumeError

if TYPE_CHECKING:
    import torch

Points = Float[Array, "*batch N 3"]
"""A cloud, or a batch of clouds with the same number of points."""
Source = Float[Array, "*batch N 3"]
"""The cloud that moves."""
Target = Float[Array, "*batch M 3"]
"""The cloud that stays; its size may differ from the source's."""
Rotations = Float[Array, "*batch 3 3"]
"""Proper rotations: orthonormal, determinant +1."""
Vectors = Float[Array, "*batch 3"]
"""Translations, axes, centroids."""


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class RigidTransform(Comparable):
    """A motion or a batch of motions: a proper rotation, a translation, a scale that is 1 unless wanted.

    Named by where it leads: ``target_from_source``. Composition cancels names:
    ``c_from_a = c_from_b @ b_from_a``.
    """

    rotation: Rotations
    """``R``, proper: ``det R = +1``."""
    translation: Vectors
    """``t``, in the unit of the target."""
    scale: Float[Array, "*#batch"] = field(default_factory=lambda: np.asarray(1.0))
    """Target lengths over source lengths; exactly 1 for rigid motions."""

    def __post_init__(self) -> None:
        """A scale that was not given is of the kind of the rotation."""
        if isinstance(self.scale, np.ndarray) and not isinstance(self.rotation, np.ndarray):
            object.__setattr__(self, "scale", namespace(self.rotation).asarray(self.scale))

    @classmethod
    def identity(cls, like: Array | None = None) -> RigidTransform:
        """The motion that leaves every point where it is, of the kind of an array."""
        like = np.zeros(3) if like is None else like
        return cls(as_like(np.eye(3), like), as_like(np.zeros(3), like))

    @classmethod
    def from_matrix(cls, matrix: Float[Array, "*batch 4 4"]) -> RigidTransform:
        """Read a 4 x 4 homogeneous matrix; its upper left block is a rotation times a positive scale."""
        block = matrix[..., :3, :3]
        volume = namespace(matrix).linalg.det(block)
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
        xp = namespace(motions[0].rotation)
        scales = [xp.broadcast_to(each._scale, each.rotation.shape[:-2]) for each in motions]
        return cls(
            xp.concat([each.rotation for each in motions], axis=-3),
            xp.concat([each.translation for each in motions], axis=-2),
            xp.concat(scales, axis=-1),
        )

    @staticmethod
    def where(condition: Bool[Array, "*batch"], yes: RigidTransform, no: RigidTransform) -> RigidTransform:
        """``yes`` where the condition holds, ``no`` elsewhere."""
        xp = namespace(condition)
        return RigidTransform(
            xp.where(condition[..., None, None], yes.rotation, no.rotation),
            xp.where(condition[..., None], yes.translation, no.translation),
            xp.where(condition, yes._scale, no._scale),
        )

    def __repr__(self) -> str:
        if self.translation.ndim > 1:
            return f"RigidTransform(a batch of shape {tuple(self.translation.shape[:-1])})"
        x, y, z = self.translation.tolist()
        angle = f"{np.rad2deg(float(rotation_angle(self.rotation))):.2f} degrees"
        scale = "" if float(self.scale) == 1 else f", scale {float(self.scale):.5g}"
        return f"RigidTransform(turn {angle}, shift ({x:.4g}, {y:.4g}, {z:.4g}){scale})"

    @property
    def matrix(self) -> Float[Array, "*batch 4 4"]:
        """The 4 x 4 homogeneous matrix with the scale applied; acts on column vectors."""
        shape = (*self.rotation.shape[:-2], 4, 4)
        matrix = namespace(self.rotation).zeros(shape, dtype=self.rotation.dtype, device=self.rotation.device)
        matrix[..., :3, :3] = self._block
        matrix[..., :3, 3] = self.translation
        matrix[..., 3, 3] = 1
        return matrix

    def inverse(self) -> RigidTransform:
        """``source_from_target``."""
        back = self.rotation.mT
        translation = -(self.translation[..., None, :] @ self.rotation).squeeze(-2) / self._scale[..., None]
        return RigidTransform(back, translation, 1 / self.scale)

    def apply(self, points: Float[Array, "... N 3"]) -> Float[Array, "... N 3"]:
        """Move points: ``scale * points @ R.mT + t``, arrays or tensors, whatever the motion is. Batches broadcast."""
        motion = self if isinstance(points, np.ndarray) == isinstance(self.rotation, np.ndarray) else self.to(points)
        return points @ motion._block.mT + motion.translation[..., None, :]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        """The 4 x 4 matrix, for NumPy."""
        return np.array(self.numpy(), dtype)

    def __matmul__(self, other: RigidTransform) -> RigidTransform:
        moved = self.apply(other.translation[..., None, :]).squeeze(-2)
        return RigidTransform(self.rotation @ other.rotation, moved, self.scale * other.scale)

    def __getitem__(self, index: Any) -> RigidTransform:
        """Members of a batch of motions; the index speaks of batch axes only."""
        index = index if isinstance(index, tuple) else (index,)
        scale = self.scale[index] if self.scale.ndim else self.scale
        return RigidTransform(self.rotation[*index, :, :], self.translation[*index, :], scale)

    def to(self, like: Array) -> RigidTransform:
        """The same motion in the kind, the precision and the place of an array."""
        return RigidTransform(*(as_like(part, like) for part in (self.rotation, self.translation, self.scale)))

    def numpy(self) -> np.ndarray:
        """The 4 x 4 matrix as a float64 NumPy array."""
        matrix = self.matrix
        return matrix.astype(np.float64) if isinstance(matrix, np.ndarray) else matrix.numpy(force=True).astype(float)

    @property
    def _scale(self) -> Array:
        return as_like(self.scale, self.rotation)

    @property
    def _block(self) -> Array:
        return self._scale[..., None, None] * self.rotation


def rigid_motion(rotation: Rotations, translation: Vectors) -> RigidTransform:
    """A motion whose scale is a constant on the device of the rotation: a transfer would halt the GPU."""
    return RigidTransform(rotation, translation, namespace(translation).ones_like(translation[..., 0]))


def motion_between(
    source: Float[Array, "*#batch 3"], target: Float[Array, "*#batch 3"], rotation: Float[Array, "*#batch 3 3"]
) -> RigidTransform:
    """The motion with this rotation that carries one point to the other: ``t = target - R source``."""
    return rigid_motion(rotation, target - (rotation @ source[..., None]).squeeze(-1))


def rotation_from_vector(vector: Vectors) -> Rotations:
    """Rotation by ``|vector|`` radians about ``vector`` (the exponential map), smooth at zero."""
    xp = namespace(vector)
    angle = xp.linalg.vector_norm(vector, axis=-1, keepdims=True)[..., None]
    cross = cross_matrix(vector)
    # Rodrigues: sin(a) / a and (1 - cos a) / a^2, both by the sinc function, which knows its value at zero.
    first, second = xp.sinc(angle / xp.pi), xp.sinc(angle / (2 * xp.pi)) ** 2 / 2
    return as_like(np.eye(3), vector) + first * cross + second * (cross @ cross)


def move_covariance(
    covariance: Float[Array, "*batch 6 6"], moved_from_original: RigidTransform
) -> Float[Array, "*batch 6 6"]:
    """Covariance of a pose (rotation vector, translation; perturbation on the left) seen from another frame.

    A turn w and a shift v there are a turn R w and a shift ``scale R v + t x R w`` here.
    """
    R, t = moved_from_original.rotation, moved_from_original.translation
    change = namespace(covariance).zeros_like(covariance)
    change[..., :3, :3] = R
    change[..., 3:, :3] = cross_matrix(t) @ R
    change[..., 3:, 3:] = moved_from_original._scale[..., None, None] * R
    return change @ covariance @ change.mT


def cross_matrix(vector: Vectors) -> Float[Array, "*batch 3 3"]:
    """The matrix of the cross product: ``cross_matrix(a) @ b == a x b``."""
    xp = namespace(vector)
    x, y, z = vector[..., 0], vector[..., 1], vector[..., 2]
    zero = xp.zeros_like(x)
    return xp.stack([zero, -z, y, z, zero, -x, -y, x, zero], axis=-1).reshape(*x.shape, 3, 3)


def rotation_about_axis(axis: int, angle: Float[Array, "*batch"]) -> Rotations:
    """Rotation by ``angle`` radians about coordinate axis 0, 1 or 2."""
    return rotation_from_vector(angle[..., None] * as_like(np.eye(3)[axis], angle))


def rotation_from_quaternion(quaternion: Float[Array, "*batch 4"]) -> Rotations:
    """Rotation of a quaternion (w, x, y, z) of any length but zero."""
    xp = namespace(quaternion)
    unit = quaternion / xp.linalg.vector_norm(quaternion, axis=-1, keepdims=True)
    w, x, y, z = (unit[..., k] for k in range(4))
    rows = [
        1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y),
        2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x),
        2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y),
    ]  # fmt: skip
    return xp.stack(rows, axis=-1).reshape(*w.shape, 3, 3)


def random_rotation(*batch: int, generator: torch.Generator, dtype: torch.dtype | None = None) -> Rotations:
    """Rotations uniform over SO(3) (the Haar law): normalized Gaussian quaternions; doubles unless told otherwise."""
    import torch

    dtype = dtype or torch.float64
    quaternion = torch.randn(*batch, 4, generator=generator, dtype=dtype, device=generator.device)
    return rotation_from_quaternion(quaternion)


def rotation_angle(rotation: Rotations) -> Float[Array, "*batch"]:
    """Angle in radians by which a rotation turns, accurate at 0 and at 180 degrees.

    The antisymmetric part carries the sine, exact where the cosine is flat; the trace carries the cosine.
    """
    xp = namespace(rotation)
    sine = xp.linalg.vector_norm(rotation - rotation.mT, axis=(-2, -1)) / 8**0.5
    cosine = (xp.linalg.trace(rotation) - 1) / 2
    return xp.atan2(sine, cosine)
