"""A pair of prepared clouds: smaller versions of it, scores and refinements of its poses."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from jaxtyping import Float
from torch import Tensor

from deepume.alignment.gicp import GicpSettings, align_described
from deepume.alignment.indexed_cloud import PreparedCloud, Thinning, thin_by_radius, thin_evenly
from deepume.alignment.nearest_points import IcpSettings, refine_icp
from deepume.alignment.score import two_sided_score
from deepume.geometry.spacing import NEIGHBOR_SPREAD
from deepume.transform import RigidTransform

SEARCH_POINTS = 1024
"""Poses are sought on at most this many points of each cloud; all of them take part in the last refinement."""
QUICK_POINTS = 256
"""Points on which the first four hypotheses are refined."""
COARSE_POINTS = 128
"""Points, spread evenly, on which many hypotheses are refined."""
DENSE_POINTS = 200
"""From this many points on GICP refines better than ICP, below it worse."""


@dataclass(frozen=True)
class PreparedPair:
    """Two clouds, each about its centroid, in one unit; poses are those of the centered clouds."""

    source: PreparedCloud
    target: PreparedCloud

    def swapped(self) -> PreparedPair:
        """The same clouds, the other one called source."""
        return PreparedPair(self.target, self.source)

    @cached_property
    def chance(self) -> float:
        """How far, relatively, sampling alone moves the score of a right pose (three standard deviations)."""
        return 3 * NEIGHBOR_SPREAD * (2 / (len(self.source.points) + len(self.target.points))) ** 0.5

    @cached_property
    def smaller_size(self) -> int:
        """Points of the smaller cloud."""
        return min(len(self.source.points), len(self.target.points))

    @cached_property
    def for_search(self) -> PreparedPair:
        """The pair with at most :data:`SEARCH_POINTS` points in each cloud."""
        return self.thinned(SEARCH_POINTS)

    @property
    def searched_whole(self) -> bool:
        """True where the search leaves no point out."""
        return max(len(self.source.points), len(self.target.points)) <= SEARCH_POINTS

    @cached_property
    def quick(self) -> PreparedPair:
        """The pair with at most :data:`QUICK_POINTS` points in each cloud, if it is dense."""
        return self.thinned(QUICK_POINTS) if self.dense else self

    def thinned(self, count: int) -> PreparedPair:
        """The pair with at most ``count`` points in each cloud, taken as they come."""
        return self._with(thin_by_radius, count)

    @cached_property
    def coarse(self) -> PreparedPair:
        """The pair with at most :data:`COARSE_POINTS` points in each cloud, evenly spread whatever the density."""
        return self._with(thin_evenly, COARSE_POINTS)

    def _with(self, thin: Thinning, count: int) -> PreparedPair:
        return PreparedPair(self.source.thinned(thin, count), self.target.thinned(thin, count))

    def score(self, poses: RigidTransform, asking: PreparedPair | None = None) -> Float[Tensor, "K"]:
        """:func:`deepume.alignment.score.score_poses` with spacings and trees at hand.

        When only the points of a smaller pair are ``asking`` for their nearest ones, the score is an estimate.
        """
        source, target = ((asking or self).source.points, (asking or self).target.points)
        forward = self.target.nearest(poses.apply(source.unsqueeze(-3))).distances
        backward = self.source.nearest(poses.inverse().apply(target.unsqueeze(-3))).distances
        return two_sided_score(forward, backward, self.source.spacing, self.target.spacing)

    @property
    def dense(self) -> bool:
        """True where neighborhoods are small against the object, so that normals mean something."""
        return self.smaller_size >= DENSE_POINTS

    def gicp(self, poses: RigidTransform, settings: GicpSettings) -> RigidTransform:
        """Poses after GICP; clouds without neighborhoods are left to ICP."""
        if self.smaller_size <= settings.neighbors:
            return self.icp(poses)
        return align_described(self.source.described, self.target.described, poses, settings)

    def icp(self, poses: RigidTransform, settings: IcpSettings | None = None) -> RigidTransform:
        """Poses after two-sided ICP."""
        return refine_icp(self.source.points, self.target.points, poses, settings)
