"""A pose of a pair with the partners of all points: found once, asked by every measure of how well the pose fits."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from jaxtyping import Float
from torch import Tensor

from deepume.alignment.indexed_cloud import PreparedCloud
from deepume.alignment.indexed_pair import PreparedPair
from deepume.alignment.score import two_sided_score
from deepume.geometry.neighbors import Neighbors
from deepume.geometry.normals import along_normals
from deepume.transform import RigidTransform

APART = 3.0
"""A point farther off than this many spacings of the other cloud at that place has no counterpart there."""


@dataclass(frozen=True)
class Side:
    """One cloud laid on the other: where its points come to lie, and the nearest points there."""

    moving: PreparedCloud
    fixed: PreparedCloud
    pose: RigidTransform

    @cached_property
    def moved(self) -> Float[Tensor, "N 3"]:
        """The moving cloud in its place."""
        return self.pose.apply(self.moving.points)

    @cached_property
    def partners(self) -> Neighbors:
        """The nearest point of the fixed cloud for each moved one."""
        return self.fixed.nearest(self.moved)

    @cached_property
    def local_distances(self) -> Float[Tensor, "N"]:
        """Distances to the partners in spacings of the fixed cloud at that place."""
        return self.partners.distances / self.fixed.local_spacing[self.partners.indices]

    @cached_property
    def offsets(self) -> Float[Tensor, "N 3"]:
        """From the partners to the moved points."""
        return self.moved - self.fixed.points[self.partners.indices]

    @cached_property
    def off_surface(self) -> Float[Tensor, "N"]:
        """Distances along the normals at both ends."""
        normals = self.fixed.normals[self.partners.indices]
        return along_normals(self.offsets, self.moving.normals @ self.pose.rotation.mT, normals)


@dataclass(frozen=True)
class Fit:
    """A pose of a pair, seen from both clouds."""

    forward: Side
    """The source on the target."""
    backward: Side
    """The target on the source."""

    @classmethod
    def of(cls, pair: PreparedPair, pose: RigidTransform) -> Fit:
        """The fit of a single pose."""
        return cls(Side(pair.source, pair.target, pose), Side(pair.target, pair.source, pose.inverse()))

    @cached_property
    def lonely_share(self) -> float:
        """Share of the points of both clouds that have no counterpart, the smaller one.

        Where a sampling thins out, one cloud has none in the other; of two parts of an object, both.
        """
        return min(float((side.local_distances > APART).double().mean()) for side in (self.forward, self.backward))

    @property
    def pose(self) -> RigidTransform:
        """Target from source."""
        return self.forward.pose

    def swapped(self) -> Fit:
        """The same fit, the other cloud called source."""
        return Fit(self.backward, self.forward)

    @cached_property
    def score(self) -> float:
        """:func:`deepume.alignment.score.score_poses` of the pose."""
        return self._mean_of(self.forward.partners.distances, self.backward.partners.distances)

    @cached_property
    def surface_score(self) -> float:
        """:func:`deepume.alignment.score.surface_score` of the pose."""
        return self._mean_of(self.forward.off_surface, self.backward.off_surface)

    def _mean_of(self, forward: Float[Tensor, "N"], backward: Float[Tensor, "M"]) -> float:
        spacings = self.forward.moving.spacing, self.forward.fixed.spacing
        return float(two_sided_score(forward[None], backward[None], *spacings))
