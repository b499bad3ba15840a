"""Iterative closest points on many poses at once: point to point or point to plane, robust, two-sided."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from deepume.alignment.score import Side
from deepume.arrays import Array, as_like, namespace, smallest_number
from deepume.geometry.clouds import rms_radius, subsample_farthest
from deepume.geometry.rotation import solve_motion
from deepume.geometry.searchable import Searchable, TensorCloud
from deepume.transform import Points, RigidTransform, Source, Target, rotation_from_vector


class Residual(StrEnum):
    """What an iteration of ICP makes small."""

    POINT = "point"
    """Distances between paired points."""
    PLANE = "plane"
    """Distances from source points to the target's tangent planes."""


class Kernel(StrEnum):
    """How much a pair counts, as a function of its distance over the median distance."""

    LEAST_SQUARES = "least-squares"
    """All the same."""
    HUBER = "huber"
    """Far pairs count inversely to their distance."""
    GEMAN_MCCLURE = "geman-mcclure"
    """Far pairs hardly count: locks onto points that the clouds share."""


@dataclass(frozen=True, slots=True)
class IcpSettings:
    """One configuration of iterative closest points."""

    iterations: int = 30
    """Most iterations; a pose that no longer moves stops earlier."""
    residual: Residual = Residual.POINT
    """Point-to-point or point-to-plane."""
    kernel: Kernel = Kernel.LEAST_SQUARES
    """Robust weighting of pairs."""
    two_sided: bool = True
    """Pair target points with their nearest source points too: no bias towards the denser cloud."""
    kept: float = 1.0
    """Fraction of pairs, the closest ones, that count: below 1 for partial overlap."""
    queries: int | None = None
    """Points of each cloud that look for a partner, spread evenly; None: all of them."""
    allow_scale: bool = False
    """Estimate a similarity rather than a rigid motion."""
    tolerance: float = 1e-6
    """A pose has converged when no entry of the rotation, and the centroid (in sizes of the target), moves by more."""


class _Pairs(NamedTuple):
    source: Float[Array, "*batch P 3"]
    target: Float[Array, "*batch P 3"]
    normals: Float[Array, "*batch P 3"] | None
    weights: Float[Array, "*batch P"]


def refine_icp(
    source: Source, target: Target, target_from_source: RigidTransform, settings: IcpSettings | None = None
) -> RigidTransform:
    """Poses ``(*batch, K)`` of each pair after iterative closest points; every pose converges on its own.

    Commutes with rigid motions of either cloud. A pose that has converged is left where it is, so the result does not
    depend on the other poses of the batch.
    """
    settings = settings or IcpSettings()
    clouds = TensorCloud.for_poses(source), TensorCloud.for_poses(target)
    return align_nearest(*clouds, target_from_source, settings)


def align_nearest(
    source: Searchable, target: Searchable, poses: RigidTransform, settings: IcpSettings
) -> RigidTransform:
    """:func:`refine_icp` of clouds whose trees, where they have one, are at hand."""
    search = _Search(source, target, settings)
    active = namespace(poses.rotation).ones_like(poses.rotation[..., 0, 0]) > 0
    for _ in range(settings.iterations):
        moved = _step(search.pairs(poses), poses, settings)
        moves = search.change(poses, moved) > settings.tolerance
        poses = RigidTransform.where(active, moved, poses)
        active = active & moves
        if not active.any():
            break
    return poses


@dataclass(frozen=True)
class _Search:
    """Two clouds, and the points of each that look for a partner in the other."""

    source: Searchable
    target: Searchable
    settings: IcpSettings

    @cached_property
    def source_queries(self) -> Searchable:
        """Points of the source that look for a partner."""
        return self._queries(self.source)

    @cached_property
    def target_queries(self) -> Searchable:
        """Points of the target that look for a partner."""
        return self._queries(self.target)

    def _queries(self, cloud: Searchable) -> Searchable:
        count = self.settings.queries
        return cloud if count is None else TensorCloud(subsample_farthest(cloud.points, count))

    def pairs(self, poses: RigidTransform) -> _Pairs:
        """Partners under the given poses; each direction has half of the weight."""
        forward = self._pairs_of_source(Side(self.source_queries, self.target, poses))
        if not self.settings.two_sided:
            return forward
        return _join(forward, self._pairs_of_target(Side(self.target_queries, self.source, poses.inverse())))

    def _pairs_of_source(self, side: Side[Searchable]) -> _Pairs:
        source = _spread(side.moving.points, side)
        normals = side.at_partners(self.target.normals) if self._by_planes else None
        return _Pairs(source, side.partner_points, normals, self._weights(side.partners.distances))

    def _pairs_of_target(self, side: Side[Searchable]) -> _Pairs:
        target = _spread(side.moving.points, side)
        normals = _spread(self._target_normals, side) if self._by_planes else None
        return _Pairs(side.partner_points, target, normals, self._weights(side.partners.distances))

    @property
    def _by_planes(self) -> bool:
        return self.settings.residual is Residual.PLANE

    @cached_property
    def _target_normals(self) -> Float[Array, "*batch N 3"]:
        """Normals of the whole target at those of its points that look for a partner."""
        queries = self.target_queries
        if queries is self.target:
            return self.target.normals
        return self.target.take(self.target.normals, self.target.nearest(queries.points).indices)

    def change(self, before: RigidTransform, after: RigidTransform) -> Float[Array, "*batch"]:
        """How far poses moved: the largest entry of the rotation, and of the source's centroid in sizes of the target.

        The translation itself would not do: it depends on where the origin is.
        """
        xp = namespace(self.source.points)
        middle = self.source.points.mean(-2)[..., None, :]
        carried = xp.max(xp.abs(after.apply(middle) - before.apply(middle)), axis=(-2, -1))
        turned = xp.max(xp.abs(after.rotation - before.rotation), axis=(-2, -1))
        return xp.maximum(turned, carried / rms_radius(self.target.points))

    def _weights(self, distances: Float[Array, "*batch N"]) -> Float[Array, "*batch N"]:
        weights = kernel_weights(distances, self.settings.kernel)
        if self.settings.kept < 1:
            limit = namespace(distances).quantile(distances, self.settings.kept, -1)[..., None]
            weights = weights * (distances <= limit)
        return weights / weights.sum(-1)[..., None]


def _spread(values: Float[Array, "... N 3"], side: Side[Searchable]) -> Points:
    """Values of the moving cloud, the same for every pose."""
    return namespace(values).broadcast_to(values, side.moved.shape)


def _join(forward: _Pairs, backward: _Pairs) -> _Pairs:
    xp, normals = namespace(forward.source), None
    if forward.normals is not None and backward.normals is not None:
        normals = xp.concat([forward.normals, backward.normals], axis=-2)
    return _Pairs(
        xp.concat([forward.source, backward.source], axis=-2),
        xp.concat([forward.target, backward.target], axis=-2),
        normals,
        xp.concat([forward.weights, backward.weights], axis=-1),
    )


def kernel_weights(distances: Float[Array, "*batch N"], kernel: Kernel) -> Float[Array, "*batch N"]:
    """Weight of each pair; the scale is the median distance of its own pose."""
    xp = namespace(distances)
    if kernel is Kernel.LEAST_SQUARES:
        return xp.ones_like(distances)
    middle = (distances.shape[-1] - 1) // 2
    median = xp.clip(xp.sort(distances, axis=-1)[..., middle : middle + 1], min=smallest_number(distances))
    relative = distances / median
    if kernel is Kernel.HUBER:
        return 1 / xp.clip(relative, min=1)
    return 1 / (1 + relative * relative) ** 2


def _step(pairs: _Pairs, pose: RigidTransform, settings: IcpSettings) -> RigidTransform:
    if settings.residual is Residual.POINT or pairs.normals is None:
        return solve_motion(pairs.source, pairs.target, pairs.weights, allow_scale=settings.allow_scale)
    return _plane_step(pairs, pose, settings.allow_scale)


def _plane_step(pairs: _Pairs, pose: RigidTransform, allow_scale: bool) -> RigidTransform:
    """One Gauss-Newton step on ``(moved - target) . normal``: a shift, and a small turn (and scale) in place."""
    assert pairs.normals is not None
    moved = pose.apply(pairs.source)
    xp, middle = namespace(moved), moved.mean(-2)
    arms = moved - middle[..., None, :]
    columns = [xp.linalg.cross(arms, pairs.normals), pairs.normals]
    columns += [(arms * pairs.normals).sum(-1)[..., None]] if allow_scale else []
    jacobian = xp.concat(columns, axis=-1)
    errors = ((moved - pairs.target) * pairs.normals).sum(-1)[..., None]
    weighted = pairs.weights[..., None] * jacobian
    normal_matrix = weighted.mT @ jacobian
    # A plane slides on itself: without damping its normal equations are singular.
    damping = 1e-9 * xp.linalg.trace(normal_matrix)[..., None, None]
    eye = as_like(np.eye(jacobian.shape[-1]), moved)
    twist = -xp.linalg.solve(normal_matrix + damping * eye, weighted.mT @ errors).squeeze(-1)
    # Empty without a scale, and the sum of nothing is 0.
    scale, rotation = xp.exp(twist[..., 6:].sum(-1)), rotation_from_vector(twist[..., :3])
    carried = scale[..., None] * (rotation @ middle[..., None]).squeeze(-1)
    return RigidTransform(rotation, middle + twist[..., 3:6] - carried, scale) @ pose
