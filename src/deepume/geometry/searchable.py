"""Clouds that can be searched for nearest points; whatever several steps need of a cloud is computed once."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int

from deepume.arrays import Array
from deepume.geometry.clouds import center, subsample_farthest
from deepume.geometry.frames import NORMAL_NEIGHBORS, Frame, local_normals, principal_frame
from deepume.geometry.neighbors import Neighbors, gather_points, nearest
from deepume.geometry.spacing import sampling_distance
from deepume.transform import Points


class Searchable(ABC):
    """What a score or a refinement needs of a cloud."""

    points: Points

    @cached_property
    @abstractmethod
    def spacing(self) -> Array:
        """Expected distance to the nearest point of another sampling of the same surface."""

    @cached_property
    @abstractmethod
    def normals(self) -> Points:
        """Unit normal at each point, of arbitrary sign."""

    @abstractmethod
    def nearest(self, queries: Points) -> Neighbors:
        """The nearest point of each query."""

    @abstractmethod
    def take(self, values: Points, rows: Int[Array, "*rows"]) -> Float[Array, "*rows 3"]:
        """Those of its points, or of what belongs to them, that stand in the given rows."""


@dataclass(frozen=True)
class TensorCloud(Searchable):
    """A cloud or a batch of clouds on any device; distances to it are differentiable."""

    points: Points

    @classmethod
    def for_poses(cls, points: Points) -> TensorCloud:
        """With one more batch axis, for several poses of each cloud."""
        return cls(points[..., None, :, :])

    @cached_property
    def spacing(self) -> Float[Array, "*batch"]:
        """Mean distance to the nearest other point, kept above rounding."""
        return sampling_distance(self.points)

    @cached_property
    def normals(self) -> Points:
        """Unit normal at each point, of arbitrary sign."""
        return local_normals(self.points)

    def nearest(self, queries: Points) -> Neighbors:
        """The nearest point of each query."""
        return nearest(queries, self.points)

    def take(self, values: Points, rows: Int[Array, "*rows"]) -> Float[Array, "*rows 3"]:
        """Those of its points, or of what belongs to them, that stand in the given rows."""
        return gather_points(values, rows[..., None]).squeeze(-2)


class PackedCloud(NamedTuple):
    """A cloud as small_gicp wants it, described or not."""

    cloud: Any
    """Points; once they are described, with the normal and covariance of each one's neighborhood."""
    tree: Any
    """Finds nearest points."""


Thinning = Callable[["IndexedCloud", int], Float[np.ndarray, "K 3"]]
"""Takes so many of a cloud's points."""


@dataclass(frozen=True)
class IndexedCloud(Searchable):
    """One cloud in double precision on CPU, with a tree; all else is computed when it is first needed."""

    points: Float[np.ndarray, "N 3"]
    neighborhood: int = NORMAL_NEIGHBORS
    """Points, each point itself included, that tell how densely the cloud is sampled there."""
    normal_neighbors: int = NORMAL_NEIGHBORS
    """Nearest points that give each point its normal and covariance."""
    _thinned: dict[tuple[Thinning, int], IndexedCloud] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    def thinned(self, thin: Thinning, count: int) -> IndexedCloud:
        """At most ``count`` of the points, the same cloud each time."""
        if len(self.points) <= count:
            return self
        if (thin, count) not in self._thinned:
            self._thinned[thin, count] = IndexedCloud(thin(self, count), self.neighborhood, self.normal_neighbors)
        return self._thinned[thin, count]

    @cached_property
    def packed(self) -> PackedCloud:
        """The cloud with its tree."""
        import small_gicp  # compiled, and only needed where a pose is sought on CPU

        cloud = small_gicp.PointCloud(self.points)
        return PackedCloud(cloud, small_gicp.KdTree(cloud))

    @cached_property
    def described(self) -> PackedCloud:
        """The same, with the normal and covariance of each point's neighborhood."""
        import small_gicp

        small_gicp.estimate_normals_covariances(*self.packed, self.normal_neighbors)
        return self.packed

    def k_nearest(self, queries: Float[np.ndarray, "*batch M 3"], k: int) -> Neighbors:
        """As :func:`deepume.geometry.neighbors.k_nearest`, with the tree at hand."""
        rows, squares = self.packed.tree.batch_knn_search(queries.reshape(-1, 3), k)
        shape = (*queries.shape[:-1], k)
        return Neighbors(np.sqrt(squares).reshape(shape), rows.view(np.int64).reshape(shape))

    def nearest(self, queries: Points) -> Neighbors:
        """As :func:`deepume.geometry.neighbors.nearest`, with the tree at hand."""
        distances, rows = self.k_nearest(queries, 1)
        return Neighbors(distances.squeeze(-1), rows.squeeze(-1))

    def take(self, values: Points, rows: Int[np.ndarray, "*rows"]) -> Float[np.ndarray, "*rows 3"]:
        """Those of its points, or of what belongs to them, that stand in the given rows."""
        return values[rows]

    @cached_property
    def neighbors(self) -> Neighbors:
        """The nearest points of the same cloud, the point itself first."""
        return self.k_nearest(self.points, min(self.neighborhood, len(self.points)))

    @cached_property
    def spacing(self) -> Float[Array, ""]:
        """Mean distance to the nearest other point, kept above rounding."""
        return np.maximum(self.neighbors.distances[:, 1].mean(), 1e-9 * np.abs(self.points).max())

    @cached_property
    def local_spacing(self) -> Float[np.ndarray, "N"]:
        """The spacing around each point, from the distance to its last neighbor: whatever the density elsewhere."""
        last = self.neighbors.distances.shape[-1] - 1
        # The mean distance to the k-th neighbor on a surface is Gamma(k + 1/2) / Gamma(k) times a length.
        growth = math.gamma(last + 0.5) / math.gamma(last) / math.gamma(1.5)
        return np.maximum(self.neighbors.distances[:, -1] / growth, 1e-9 * np.abs(self.points).max())

    @cached_property
    def normals(self) -> Float[np.ndarray, "N 3"]:
        """Unit normal at each point, of arbitrary sign."""
        return self.described.cloud.normals()[:, :3]

    @cached_property
    def frame(self) -> Frame:
        """Principal frame."""
        return principal_frame(self.points)

    @cached_property
    def _order_by_radius(self) -> Int[np.ndarray, "N"]:
        return np.argsort((center(self.points) ** 2).sum(-1), stable=True)

    def rows_by_radius(self, count: int) -> Int[np.ndarray, "K"]:
        """At most ``count`` rows, evenly spaced in the order of the distance from the centroid.

        The choice turns with the cloud, does not depend on the order of the points, and costs one sort.
        """
        steps = np.linspace(0, len(self.points) - 1, min(count, len(self.points)))
        return self._order_by_radius[steps.round().astype(int)]


def thin_by_radius(cloud: IndexedCloud, count: int) -> Float[np.ndarray, "K 3"]:
    """``count`` of the points, at distances from the centroid as they come."""
    return cloud.points[cloud.rows_by_radius(count)]


def thin_evenly(cloud: IndexedCloud, count: int) -> Float[np.ndarray, "K 3"]:
    """``count`` of the points, evenly spread whatever the density."""
    return subsample_farthest(cloud.points, count)
