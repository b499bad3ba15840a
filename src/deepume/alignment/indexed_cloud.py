"""A cloud with what every step needs of it, computed once: tree, spacings, neighborhoods, frame."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from deepume.alignment.gicp import DescribedCloud, PackedCloud, describe_cloud, pack_cloud
from deepume.geometry.clouds import center
from deepume.geometry.frames import Frame, principal_frame
from deepume.geometry.neighbors import Neighbors
from deepume.geometry.thinning import subsample_farthest

Cloud = Float[Tensor, "N 3"]
DENSITY_NEIGHBOR = 8
"""Neighbor whose distance tells how densely a cloud is sampled around a point."""
STRAY_NEIGHBOR, STRAY_DISTANCE = 3, 4.0
"""A point whose third neighbor is this many times as far as the median one is far from all others: fewer than 1 in
1,000 points of whole shapes are, 1 or 2 where a sampling thins out, and 14 to 19 of 20 points strewn into the doubled
box around 64 to 1,024 points."""
LEAST_STRAYS, MOST_STRAYS = 0.02, 0.25
"""Fewer far points than the first share do no harm, and may have a counterpart in a copy of the cloud that is not quite
as far; where there are more than the second share, the cloud is uneven."""

Thinning = Callable[["PreparedCloud", int], Cloud]
"""Takes so many of a cloud's points."""


@dataclass(frozen=True)
class PreparedCloud:
    """One cloud about its centroid, in double precision on CPU."""

    points: Cloud
    _thinned: dict[tuple[Thinning, int], PreparedCloud] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    def thinned(self, thin: Thinning, count: int) -> PreparedCloud:
        """At most ``count`` of the points, the same cloud whenever they are asked for."""
        if len(self.points) <= count:
            return self
        if (thin, count) not in self._thinned:
            self._thinned[thin, count] = PreparedCloud(thin(self, count))
        return self._thinned[thin, count]

    @cached_property
    def neighbors(self) -> Neighbors:
        """The nearest points of the same cloud, the point itself first."""
        return self.k_nearest(self.points, min(DENSITY_NEIGHBOR, len(self.points)))

    @property
    def neighbor_distances(self) -> Float[Tensor, "N k"]:
        """How far they are."""
        return self.neighbors.distances

    @cached_property
    def spacing(self) -> Float[Tensor, ""]:
        """Mean distance to the nearest other point, kept above rounding."""
        return torch.maximum(self.neighbor_distances[:, 1].mean(), 1e-9 * self.points.abs().max())

    @cached_property
    def _packed(self) -> PackedCloud:
        return pack_cloud(self.points)

    def k_nearest(self, queries: Float[Tensor, "*batch M 3"], k: int) -> Neighbors:
        """As :func:`deepume.geometry.neighbors.k_nearest`, with the tree at hand."""
        rows, squares = self._packed.tree.batch_knn_search(queries.reshape(-1, 3).numpy(), k)
        shape = (*queries.shape[:-1], k)
        return Neighbors(
            torch.from_numpy(squares).sqrt().reshape(shape), torch.from_numpy(rows.view(np.int64)).reshape(shape)
        )

    def nearest(self, queries: Float[Tensor, "*batch M 3"]) -> Neighbors:
        """As :func:`deepume.geometry.neighbors.nearest`, with the tree at hand."""
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
    def _order_by_radius(self) -> Int[Tensor, "N"]:
        return center(self.points).square().sum(-1).argsort(stable=True)

    def rows_by_radius(self, count: int) -> Int[Tensor, "K"]:
        """At most ``count`` rows, evenly spaced in the order of the distance from the centroid.

        Turns with the cloud, does not depend on the order of the points, and takes no more than a sort.
        """
        steps = torch.linspace(0, len(self.points) - 1, min(count, len(self.points)), dtype=torch.float64)
        return self._order_by_radius[steps.round().long()]

    @cached_property
    def is_stray(self) -> Bool[Tensor, "N"]:
        """True for points far from all others, which would pull at the centroid and the frame of the cloud."""
        distances = self.neighbor_distances[:, min(STRAY_NEIGHBOR, self.neighbor_distances.shape[-1] - 1)]
        typical = distances.median()
        far = distances > STRAY_DISTANCE * typical
        share = far.double().mean()
        # Where most points are repeated, all others would be far.
        return far & (typical > 0) & (share >= LEAST_STRAYS) & (share <= MOST_STRAYS)

    @cached_property
    def described(self) -> DescribedCloud:
        """The cloud with its tree and covariances, for GICP."""
        return describe_cloud(self._packed, float(self.spacing))

    @cached_property
    def normals(self) -> Cloud:
        """Unit normal at each point, of arbitrary sign."""
        return torch.from_numpy(self.described.cloud.normals()[:, :3])

    @cached_property
    def frame(self) -> Frame:
        """Principal frame."""
        return principal_frame(self.points)


def thin_by_radius(cloud: PreparedCloud, count: int) -> Float[Tensor, "K 3"]:
    """``count`` of the points, at distances from the centroid as they come."""
    return cloud.points[cloud.rows_by_radius(count)]


def thin_evenly(cloud: PreparedCloud, count: int) -> Float[Tensor, "K 3"]:
    """``count`` of the points, evenly spread whatever the density."""
    return subsample_farthest(cloud.points, count)
