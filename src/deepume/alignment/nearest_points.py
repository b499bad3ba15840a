"""Iterative closest points on many poses at once, in torch: point to point or point to plane, robust, two-sided."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from deepume.geometry.clouds import rms_radius
from deepume.geometry.neighbors import gather_points, nearest
from deepume.geometry.normals import local_normals
from deepume.geometry.rotation import solve_motion
from deepume.geometry.thinning import subsample_farthest
from deepume.transform import RigidTransform, Source, Target, rotation_from_vector


class Residual(StrEnum):
    """What an iteration of ICP makes small."""

    POINT = "point"
    """Distances between paired points."""
    PLANE = "plane"
    """Distances from source points to the target's tangent planes."""


class Kernel(StrEnum):
    """How much a pair counts, by its distance in units of the median distance."""

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
    source: Float[Tensor, "*batch P 3"]
    target: Float[Tensor, "*batch P 3"]
    normals: Float[Tensor, "*batch P 3"] | None
    weights: Float[Tensor, "*batch P"]


def refine_icp(
    source: Source, target: Target, target_from_source: RigidTransform, settings: IcpSettings | None = None
) -> RigidTransform:
    """Poses ``(*batch, K)`` of each pair after iterative closest points; every pose converges on its own.

    Commutes with rigid motions of either cloud. A pose that has converged is left alone, so the result does not
    depend on the other poses of the batch.
    """
    settings = settings or IcpSettings()
    search = _Search.prepare(source, target, settings)
    pose = target_from_source
    active = torch.ones(pose.rotation.shape[:-2], dtype=torch.bool, device=source.device)
    for _ in range(settings.iterations):
        moved = _step(search.pairs(pose), pose, settings)
        moves = search.change(pose, moved) > settings.tolerance
        pose = RigidTransform.where(active, moved, pose)
        active = active & moves
        if not active.any():
            break
    return pose


@dataclass(frozen=True, slots=True)
class _Search:
    """The two clouds with an axis for hypotheses, and the points of each that look for a partner."""

    source: Tensor
    target: Tensor
    asking_source: Tensor
    asking_target: Tensor
    normals: Tensor | None
    asking_normals: Tensor | None
    settings: IcpSettings

    @classmethod
    def prepare(cls, source: Source, target: Target, settings: IcpSettings) -> _Search:
        normals = local_normals(target) if settings.residual is Residual.PLANE else None
        count = settings.queries
        asking_source = source if count is None else subsample_farthest(source, count)
        asking_target, asking_normals = target, normals
        if count is not None:
            asking_target = subsample_farthest(target, count)
            rows = nearest(asking_target, target).indices.unsqueeze(-1)
            asking_normals = None if normals is None else gather_points(normals, rows).squeeze(-2)
        clouds = (source, target, asking_source, asking_target, normals, asking_normals)
        return cls(*(None if cloud is None else cloud.unsqueeze(-3) for cloud in clouds), settings)  # pyright: ignore

    def pairs(self, pose: RigidTransform) -> _Pairs:
        """Partners under the given poses; each direction has half of the weight."""
        distances, rows = nearest(pose.apply(self.asking_source), self.target)
        source = self.asking_source.expand(*rows.shape, 3)
        target = gather_points(self.target, rows.unsqueeze(-1)).squeeze(-2)
        normals = None if self.normals is None else gather_points(self.normals, rows.unsqueeze(-1)).squeeze(-2)
        forward = _Pairs(source, target, normals, self._weights(distances))
        if not self.settings.two_sided:
            return forward
        distances, rows = nearest(pose.inverse().apply(self.asking_target), self.source)
        source = gather_points(self.source, rows.unsqueeze(-1)).squeeze(-2)
        target = self.asking_target.expand(*rows.shape, 3)
        normals = None if self.asking_normals is None else self.asking_normals.expand(*rows.shape, 3)
        return _join(forward, _Pairs(source, target, normals, self._weights(distances)))

    def change(self, before: RigidTransform, after: RigidTransform) -> Float[Tensor, "*batch"]:
        """How far poses moved: the largest entry of the rotation, and of the source's centroid in sizes of the target.

        The translation itself would not do: it depends on where the origin is.
        """
        middle = self.source.mean(-2, keepdim=True)
        carried = (after.apply(middle) - before.apply(middle)).abs().amax((-2, -1)) / rms_radius(self.target)
        return torch.maximum((after.rotation - before.rotation).abs().amax((-2, -1)), carried)

    def _weights(self, distances: Float[Tensor, "*batch N"]) -> Float[Tensor, "*batch N"]:
        weights = kernel_weights(distances, self.settings.kernel)
        if self.settings.kept < 1:
            weights = weights * (distances <= distances.quantile(self.settings.kept, -1, keepdim=True))
        return weights / weights.sum(-1, keepdim=True)


def _join(forward: _Pairs, backward: _Pairs) -> _Pairs:
    normals = None
    if forward.normals is not None and backward.normals is not None:
        normals = torch.cat([forward.normals, backward.normals], -2)
    return _Pairs(
        torch.cat([forward.source, backward.source], -2),
        torch.cat([forward.target, backward.target], -2),
        normals,
        torch.cat([forward.weights, backward.weights], -1),
    )


def kernel_weights(distances: Float[Tensor, "*batch N"], kernel: Kernel) -> Float[Tensor, "*batch N"]:
    """Weight of each pair; the scale is the median distance of its own pose."""
    if kernel is Kernel.LEAST_SQUARES:
        return torch.ones_like(distances)
    median = distances.median(-1, keepdim=True).values.clamp_min(torch.finfo(distances.dtype).tiny)
    relative = distances / median
    if kernel is Kernel.HUBER:
        return 1 / relative.clamp_min(1)
    return 1 / (1 + relative.square()).square()


def _step(pairs: _Pairs, pose: RigidTransform, settings: IcpSettings) -> RigidTransform:
    if settings.residual is Residual.POINT or pairs.normals is None:
        return solve_motion(pairs.source, pairs.target, pairs.weights, allow_scale=settings.allow_scale)
    return _plane_step(pairs, pose, settings.allow_scale)


def _plane_step(pairs: _Pairs, pose: RigidTransform, allow_scale: bool) -> RigidTransform:
    """One Gauss-Newton step on ``(moved - target) . normal``: a shift, and a small turn (and scale) in place."""
    assert pairs.normals is not None
    moved = pose.apply(pairs.source)
    middle = moved.mean(-2)
    arms = moved - middle.unsqueeze(-2)
    columns = [torch.linalg.cross(arms, pairs.normals), pairs.normals]
    columns += [(arms * pairs.normals).sum(-1, keepdim=True)] if allow_scale else []
    jacobian = torch.cat(columns, -1)
    errors = ((moved - pairs.target) * pairs.normals).sum(-1, keepdim=True)
    weighted = pairs.weights.unsqueeze(-1) * jacobian
    normal_matrix = weighted.mT @ jacobian
    # A plane slides on itself: without damping its normal equations are singular.
    damping = 1e-9 * normal_matrix.diagonal(dim1=-2, dim2=-1).sum(-1)[..., None, None]
    eye = torch.eye(jacobian.shape[-1], dtype=moved.dtype, device=moved.device)
    twist = -torch.linalg.solve(normal_matrix + damping * eye, weighted.mT @ errors).squeeze(-1)
    # Empty without a scale, and the sum of nothing is 0.
    scale, rotation = twist[..., 6:].sum(-1).exp(), rotation_from_vector(twist[..., :3])
    carried = scale.unsqueeze(-1) * (rotation @ middle.unsqueeze(-1)).squeeze(-1)
    return RigidTransform(rotation, middle + twist[..., 3:6] - carried, scale) @ pose
