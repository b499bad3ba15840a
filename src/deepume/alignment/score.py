"""How well a pose explains a pair, without knowing the truth: one score, with its variants as parameters."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Generic, TypeVar

import numpy as np
from jaxtyping import Bool, Float

from deepume.arrays import Array, namespace
from deepume.geometry.neighbors import Neighbors
from deepume.geometry.searchable import IndexedCloud, Searchable, TensorCloud
from deepume.geometry.spacing import NEIGHBOR_SPREAD
from deepume.transform import Points, RigidTransform, Source, Target

Scores = Float[Array, "*batch K"]
CloudT = TypeVar("CloudT", bound=Searchable)

TRUNCATION = 4.0
"""Distances beyond this many point spacings count as this many: a missing part must not outweigh the rest."""
EXACT_SCORE = 1e-4
"""Scores below this are rounding: the clouds coincide point by point, and so they do for every rival below it."""


@dataclass(frozen=True, slots=True)
class Measure:
    """What counts as the distance of a point from the other cloud, in point spacings of that cloud."""

    along_normals: bool = False
    """Measure along the normals at both ends rather than straight to the nearest point."""
    truncation: float = TRUNCATION
    """Larger distances count as this."""
    reach: float = math.inf
    """Points whose nearest one is farther than this count as the truncation."""


NEAREST = Measure()
SURFACE = Measure(along_normals=True)
"""Two samplings of one surface have no points in common, so nearest points prefer a pose that is slightly wrong;
distances along the normals do not. It needs clouds dense enough for normals."""


@dataclass(frozen=True)
class Side(Generic[CloudT]):
    """One cloud laid on the other by one or more poses: where its points come to lie, and the nearest points there."""

    moving: CloudT
    fixed: CloudT
    poses: RigidTransform

    @cached_property
    def moved(self) -> Points:
        """The moving cloud in its place."""
        return self.poses.apply(self.moving.points)

    @cached_property
    def partners(self) -> Neighbors:
        """The nearest point of the fixed cloud for each moved one."""
        return self.fixed.nearest(self.moved)

    @cached_property
    def partner_points(self) -> Points:
        """Where the partners are."""
        return self.at_partners(self.fixed.points)

    @cached_property
    def offsets(self) -> Points:
        """From the partners to the moved points."""
        return self.moved - self.partner_points

    @cached_property
    def off_surface(self) -> Float[Array, "*batch N"]:
        """Distances along the normals: root mean square of those at both ends."""
        ends = self.moving.normals @ self.poses.rotation.mT, self.at_partners(self.fixed.normals)
        first, second = ((self.offsets * normals).sum(-1) for normals in ends)
        return ((first * first + second * second) / 2) ** 0.5

    def at_partners(self, values: Float[Array, "... M 3"]) -> Points:
        """Points or normals of the fixed cloud, those of the partners."""
        return self.fixed.take(values, self.partners.indices)

    def distances(self, measure: Measure) -> Float[Array, "*batch N"]:
        """Distance of every point by a measure, truncated."""
        spacing = self.fixed.spacing[..., None]
        lengths = self.off_surface if measure.along_normals else self.partners.distances
        xp = namespace(lengths)
        spacings = xp.clip(lengths / spacing, max=measure.truncation)
        if math.isinf(measure.reach):
            return spacings
        return xp.where(self.partners.distances < measure.reach * spacing, spacings, measure.truncation)


@dataclass(frozen=True)
class Fit(Generic[CloudT]):
    """One or more poses of a pair with the partners of all points, seen from both clouds and found once."""

    forward: Side[CloudT]
    """The source on the target."""
    backward: Side[CloudT]
    """The target on the source."""

    @classmethod
    def of(cls, source: CloudT, target: CloudT, poses: RigidTransform) -> Fit[CloudT]:
        """The fit of poses ``target_from_source``."""
        return cls(Side(source, target, poses), Side(target, source, poses.inverse()))

    @property
    def sides(self) -> tuple[Side[CloudT], Side[CloudT]]:
        """Both of them."""
        return self.forward, self.backward

    @property
    def pose(self) -> RigidTransform:
        """Target from source."""
        return self.forward.poses

    def swapped(self) -> Fit[CloudT]:
        """The same fit, the other cloud called source."""
        return Fit(self.backward, self.forward)

    @property
    def matches(self) -> tuple[Points, Points]:
        """Source and target points, each with its nearest one: first those of the source, then those of the target."""
        forward, backward = self.forward, self.backward
        xp = namespace(forward.partner_points)
        return (
            xp.concat([forward.moving.points, backward.partner_points], axis=-2),
            xp.concat([forward.partner_points, backward.moving.points], axis=-2),
        )

    @property
    def distances(self) -> Float[Array, "*batch P"]:
        """How far the two points of each match are from each other."""
        distances = [side.partners.distances for side in self.sides]
        return namespace(distances[0]).concat(distances, axis=-1)

    def by(self, measure: Measure) -> Array:
        """Mean of the two mean distances: lower is better, and the same whoever is called source."""
        return (self.forward.distances(measure).mean(-1) + self.backward.distances(measure).mean(-1)) / 2

    @cached_property
    def score(self) -> float:
        """The score of a single pose."""
        return float(self.by(NEAREST))

    @cached_property
    def surface_score(self) -> float:
        """The score of a single pose along the normals."""
        return float(self.by(SURFACE))


def each_cloud_half(source: IndexedCloud, target: IndexedCloud) -> Float[Array, "P"]:
    """Weights of matches with which both clouds count the same, whatever their sizes."""
    return np.concat([np.full(size, 1 / size) for size in (len(source.points), len(target.points))])


def local_distances(side: Side[IndexedCloud]) -> Float[Array, "N"]:
    """Distances to the partners in spacings of the fixed cloud at that place."""
    return side.partners.distances / side.fixed.local_spacing[side.partners.indices]


def unmatched_share(side: Side[IndexedCloud], spacings: float) -> float:
    """Share of the points that have no counterpart: none within so many local spacings of the other cloud."""
    return float((local_distances(side) > spacings).mean())


def score_poses(source: Source, target: Target, poses: RigidTransform, measure: Measure = NEAREST) -> Scores:
    """Two-sided truncated mean distance of ``(*batch, K)`` poses, in units of the expected sampling distance.

    0 when the clouds coincide point by point, about 1 when they are two samplings of one surface in its true
    pose, at most ``measure.truncation``. The unit is :func:`~deepume.geometry.spacing.point_spacing`, so the value
    means the same for 64 and for 100,000 points. Swapping the clouds and inverting the poses leaves it unchanged.
    """
    return Fit.of(TensorCloud.for_poses(source), TensorCloud.for_poses(target), poses).by(measure)


def chance_of(points: int) -> float:
    """How far, relatively, sampling alone moves the score of a right pose of two clouds with so many points in all.

    Three standard deviations of a mean over the points of one cloud.
    """
    return 3 * NEIGHBOR_SPREAD * (2 / points) ** 0.5


def explains_as_well(scores: Scores, chance: float) -> Bool[Array, "*batch K"]:
    """True where a score exceeds the first, the best or one to compare with, by no more than chance or rounding."""
    return scores <= scores[..., :1] * (1 + chance) + EXACT_SCORE
