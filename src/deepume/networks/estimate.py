"""What the networks share: their answer, pairs, and the checks of their configurations."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from jaxtyping import Float

from deepume.arrays import Array, namespace, smallest_number
from deepume.errors import require_known
from deepume.geometry.clouds import center, centroid, rms_radius
from deepume.geometry.frames import principal_frame
from deepume.geometry.rotation import nearest_rotation
from deepume.transform import RigidTransform, Rotations, Source, Target, Vectors, motion_between, rigid_motion

LARGEST_RATIO = 1e3
"""The unit of a common frame is at least the radius of the target over this."""


class Pair(NamedTuple):
    """One thing for each cloud of a pair."""

    source: Float[Array, "*batch N C"]
    target: Float[Array, "*batch M C"]

    def move(self, source: Float[Array, "*batch N C"], target: Float[Array, "*batch M C"]) -> Pair:
        """Both displaced."""
        return Pair(self.source + source.to(self.source), self.target + target.to(self.target))


@dataclass(frozen=True, slots=True)
class Estimate:
    """What a network says of a pair."""

    passes: tuple[RigidTransform, ...]
    """``target_from_source`` after each pass; the last one is the answer."""
    canonical: Pair
    """Both clouds in the common frame, as the last pass saw them."""
    resampled: Pair
    """The same after joint resampling."""
    scores: tuple[Float[Array, "*batch"], ...] = ()
    """For each pass, predicted log Chamfer distance of the pose *it started from*, in rms radii of the source."""

    @property
    def target_from_source(self) -> RigidTransform:
        """The answer: ``target ~ target_from_source.apply(source)``."""
        return self.passes[-1]

    @property
    def score(self) -> Float[Array, "*batch"] | None:
        """The score of the last pass, lower is better; None for a network without a score head."""
        return self.scores[-1] if self.scores else None


class Fit(NamedTuple):
    """All that Procrustes needs to know of a pair; an exported network ends here."""

    correlation: Float[Array, "*batch 3 3"]
    """Its nearest rotation is the rotation of the motion."""
    source_mean: Vectors
    """A point that the motion carries to ``target_mean``."""
    target_mean: Vectors

    def motion(self) -> RigidTransform:
        """The motion with the nearest rotation that carries one mean to the other."""
        return motion_between(self.source_mean, self.target_mean, nearest_rotation(self.correlation))


class CommonFrame(NamedTuple):
    """Both clouds without their places and sizes, and the way back.

    Poses inside are ``target_from_frame``: they lead from the source's principal frame to the target.
    """

    source: Float[Array, "*batch N 3"]
    """In its principal frame, of radius 1."""
    target: Float[Array, "*batch M 3"]
    """Centered, in the same unit, its own axes."""
    axes: Rotations
    source_center: Vectors
    target_center: Vectors
    size: Float[Array, "*batch"]

    @classmethod
    def around(cls, source: Source, target: Target, exchange: Float[Array, "*#batch 3 3"] | None = None) -> CommonFrame:
        """The source's principal frame with its centroid as origin and its radius as unit."""
        xp, axes = namespace(source), principal_frame(source).axes
        axes = axes if exchange is None else axes @ exchange
        size = xp.clip(xp.maximum(rms_radius(source), rms_radius(target) / LARGEST_RATIO), min=smallest_number(source))
        unit = size[..., None, None]
        return cls(center(source) @ axes / unit, center(target) / unit, axes, centroid(source), centroid(target), size)

    def clouds(self, pose: RigidTransform) -> Pair:
        """Both clouds in the common frame, the target brought there by the inverse of the pose."""
        return Pair(self.source, pose.inverse().apply(self.target))

    def enter(self, target_from_source: RigidTransform) -> RigidTransform:
        """``target_from_frame`` of a pose between the clouds as they came."""
        pose = target_from_source.to(self.source)
        offset = pose.apply(self.source_center[..., None, :]).squeeze(-2) - self.target_center
        return rigid_motion(pose.rotation @ self.axes, offset / self.size[..., None])

    def leave(self, target_from_frame: RigidTransform) -> RigidTransform:
        """The pose between the clouds as they came."""
        rotation = target_from_frame.rotation @ self.axes.mT
        image = self.target_center + self.size[..., None] * target_from_frame.translation
        return motion_between(self.source_center, image, rotation)

    def repeat(self, count: int) -> CommonFrame:
        """The same ``count`` times along a new last batch axis."""
        xp, axis = namespace(self.source), self.size.ndim
        parts = (xp.expand_dims(part, axis=axis) for part in self)
        return CommonFrame(
            *(xp.broadcast_to(part, (*self.size.shape, count, *part.shape[axis + 1 :])) for part in parts)
        )


def compose(c_from_b: RigidTransform, b_from_a: RigidTransform) -> RigidTransform:
    """``c_from_b @ b_from_a`` of motions without scale."""
    moved = c_from_b.apply(b_from_a.translation[..., None, :]).squeeze(-2)
    return rigid_motion(c_from_b.rotation @ b_from_a.rotation, moved)


def detach(motion: RigidTransform) -> RigidTransform:
    """The same motion as a constant."""
    return RigidTransform(motion.rotation.detach(), motion.translation.detach(), motion.scale.detach())


def check_positive(config: object, *names: str) -> None:
    """Raise unless the named settings are whole numbers above zero."""
    for name in names:
        value = getattr(config, name)
        if not isinstance(value, int) or value < 1:
            raise ValueError(f"{type(config).__name__}.{name} must be a whole number above 0, got {value!r}.")


def check_choice(config: object, name: str, choices: type[StrEnum]) -> None:
    """Replace a name read from a file by its enum member; raise if there is none, listing the known ones."""
    value = str(getattr(config, name))
    require_known(name, value, [str(choice) for choice in choices])
    object.__setattr__(config, name, choices(value))
