"""A pair of clouds with what every step needs of it, computed once: spacings, neighborhoods, smaller versions."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from deepume.canonical import Frame, principal_frame
from deepume.clouds import center, subsample_farthest
from deepume.distances import Neighbors
from deepume.gicp import DescribedCloud, GicpSettings, align_described, describe_cloud
from deepume.icp import IcpSettings, refine_icp
from deepume.score import NEIGHBOR_SPREAD, two_sided_score
from deepume.transform import RigidTransform

Cloud = Float[Tensor, "N 3"]

SEARCH_POINTS = 1024
"""Poses are sought on at most this many points of each cloud; all of them take part in the last refinement."""
QUICK_POINTS = 256
"""Points on which the first four hypotheses are refined."""
COARSE_POINTS = 128
"""Points, spread evenly, on which many hypotheses are refined."""
DENSE_POINTS = 200
"""From this many points on GICP refines better than ICP, below it worse."""
DENSITY_NEIGHBOR = 8
"""Neighbor whose distance tells how densely a cloud is sampled around a point."""


@dataclass(frozen=True)
class PreparedCloud:
    """One cloud about its centroid, in double precision on CPU."""

    points: Cloud

    @cached_property
    def neighbor_distances(self) -> Float[Tensor, "N k"]:
        """Distances to the nearest points of the same cloud, the point itself first."""
        return self.k_nearest(self.points, min(DENSITY_NEIGHBOR, len(self.points))).distances

    @cached_property
    def spacing(self) -> Float[Tensor, ""]:
        """Mean distance to the nearest other point, kept above rounding."""
        return torch.maximum(self.neighbor_distances[:, 1].mean(), 1e-9 * self.points.abs().max())

    @cached_property
    def tree(self) -> Any:
        """Finds nearest points."""
        import small_gicp  # compiled, and needed only once a pair is registered

        return small_gicp.KdTree(self.points.numpy())

    def k_nearest(self, queries: Float[Tensor, "*batch M 3"], k: int) -> Neighbors:
        """As :func:`deepume.distances.k_nearest`, with the tree at hand."""
        rows, squares = self.tree.batch_knn_search(queries.reshape(-1, 3).numpy(), k)
        shape = (*queries.shape[:-1], k)
        return Neighbors(
            torch.from_numpy(squares).sqrt().reshape(shape), torch.from_numpy(rows.view(np.int64)).reshape(shape)
        )

    def nearest(self, queries: Float[Tensor, "*batch M 3"]) -> Neighbors:
        """As :func:`deepume.distances.nearest`, with the tree at hand."""
        distances, rows = self.k_nearest(queries, 1)
        return Neighbors(distances.squeeze(-1), rows.squeeze(-1))

    @cached_property
    def local_spacing(self) -> Float[Tensor, "N"]:
        """The spacing around each point, from the distance to its last neighbor: whatever the density elsewhere."""
        last = self.neighbor_distances.shape[-1] - 1
        # The mean distance to the k-th neighbor on a surface is Gamma(k + 1/2) / Gamma(k) times a length.
        growth = math.gamma(last + 0.5) / math.gamma(last) / math.gamma(1.5)
        return torch.maximum(self.neighbor_distances[:, -1] / growth, 1e-9 * self.points.abs().max())

    @cached_property
    def described(self) -> DescribedCloud:
        """The cloud with its tree and covariances, for GICP."""
        return describe_cloud(self.points, spacing=float(self.spacing))

    @cached_property
    def normals(self) -> Cloud:
        """Unit normal at each point, of arbitrary sign."""
        return torch.from_numpy(self.described.cloud.normals()[:, :3])

    @cached_property
    def frame(self) -> Frame:
        """Principal frame."""
        return principal_frame(self.points)


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
        return self._with(subsample_farthest, COARSE_POINTS)

    def _with(self, thin: Callable[[Cloud, int], Cloud], count: int) -> PreparedPair:
        clouds = (self.source, self.target)
        few = (each if len(each.points) <= count else PreparedCloud(thin(each.points, count)) for each in clouds)
        return PreparedPair(*few)

    def score(self, poses: RigidTransform, asking: PreparedPair | None = None) -> Float[Tensor, "K"]:
        """:func:`deepume.score.score_poses` with spacings and trees at hand.

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


def thin_by_radius(points: Cloud, count: int) -> Float[Tensor, "K 3"]:
    """``count`` of the points, at distances from the centroid as they come."""
    return points[rows_by_radius(points, count)]


def rows_by_radius(points: Cloud, count: int) -> Int[Tensor, "K"]:
    """At most ``count`` rows, evenly spaced in the order of the distance from the centroid.

    Turns with the cloud, does not depend on the order of the points, and takes no more than a sort.
    """
    order = center(points).square().sum(-1).argsort(stable=True)
    steps = torch.linspace(0, len(points) - 1, min(count, len(points)), dtype=torch.float64)
    return order[steps.round().long()]
