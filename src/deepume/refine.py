"""Local refinement of poses: a batched ICP in torch, and GICP on CPU. Neither may make a pose worse."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Bool, Float
from torch import Tensor

from deepume.canonical import local_normals
from deepume.clouds import center, centroid, rms_radius, subsample_farthest
from deepume.distances import gather_points, nearest
from deepume.rotation import nearest_rotation, solve_motion
from deepume.score import sampling_distance, score_poses, surface_score
from deepume.transform import RigidTransform, rotation_from_vector
from deepume.types import Source, Target


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


@dataclass(frozen=True, slots=True)
class GicpSettings:
    """One configuration of generalized ICP."""

    neighbors: int = 10
    """Nearest points that give a point its covariance."""
    reach: float = 5.0
    """Points farther apart than this many point spacings are not paired."""
    iterations: int = 30
    """Most iterations; a pose that no longer moves stops earlier."""
    tolerance: float = 1e-5
    """A pose has converged when it turns by less (radians) and moves by less (point spacings)."""


PLANE_ICP = IcpSettings(residual=Residual.PLANE)
DENSE_POINTS = 200
"""From this many points on, neighborhoods are small against the object and GICP is the better refiner."""


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
        pose = select_poses(active, moved, pose)
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


def refine_gicp(
    source: Source, target: Target, target_from_source: RigidTransform, settings: GicpSettings | None = None
) -> RigidTransform:
    """Poses ``(*batch, K)`` after generalized ICP (plane to plane), which differently sampled surfaces need.

    Runs in C++ on CPU; loops over the batch, with one tree and one set of covariances for each pair. Commutes with
    rigid motions of either cloud; swapping the clouds inverts the poses.
    """
    settings = settings or GicpSettings()
    if min(source.shape[-2], target.shape[-2]) <= settings.neighbors:
        return refine_icp(source, target, target_from_source)  # no neighborhoods, no covariances
    # Its steps turn about the origin: only with the clouds there does the path not depend on where they lie.
    source_origin, target_origin = _shift(centroid(source)), _shift(centroid(target))
    matrices = (target_origin.inverse() @ target_from_source @ source_origin).matrix
    starts = matrices.reshape(-1, *matrices.shape[-3:])
    sources, targets = (center(cloud).reshape(-1, *cloud.shape[-2:]) for cloud in (source, target))
    refined = [_gicp_either_way(*pair, settings) for pair in zip(sources, targets, starts, strict=True)]
    matrices = torch.stack(refined).reshape(matrices.shape)
    pose = RigidTransform(nearest_rotation(matrices[..., :3, :3]), matrices[..., :3, 3])
    return target_origin @ pose @ source_origin.inverse()


def _shift(step: Float[Tensor, "*batch 3"]) -> RigidTransform:
    """Translations ``(*batch, 1)``, with an axis for hypotheses."""
    eye = torch.eye(3, dtype=step.dtype, device=step.device)
    return RigidTransform(eye.expand(*step.shape[:-1], 1, 3, 3), step.unsqueeze(-2))


def _gicp_either_way(
    source: Float[Tensor, "N 3"], target: Float[Tensor, "M 3"], starts: Float[Tensor, "K 4 4"], settings: GicpSettings
) -> Float[Tensor, "K 4 4"]:
    """GICP looks for partners in one cloud only: let it be the same one whichever is called the source."""
    if (len(source), float(rms_radius(source))) <= (len(target), float(rms_radius(target))):
        return _gicp_pair(source, target, starts, settings)
    return torch.linalg.inv(_gicp_pair(target, source, torch.linalg.inv(starts), settings))


def _gicp_pair(
    source: Float[Tensor, "N 3"], target: Float[Tensor, "M 3"], starts: Float[Tensor, "K 4 4"], settings: GicpSettings
) -> Float[Tensor, "K 4 4"]:
    import small_gicp  # compiled, and only needed where a pose is polished on CPU

    target_cloud, source_cloud = (small_gicp.PointCloud(_as_doubles(cloud)) for cloud in (target, source))
    target_tree, source_tree = small_gicp.KdTree(target_cloud), small_gicp.KdTree(source_cloud)
    small_gicp.estimate_covariances(target_cloud, target_tree, settings.neighbors)
    small_gicp.estimate_covariances(source_cloud, source_tree, settings.neighbors)
    spacing = torch.maximum(sampling_distance(source), sampling_distance(target))
    refined = [
        small_gicp.align(
            target_cloud,
            source_cloud,
            target_tree,
            _as_doubles(start),
            registration_type="GICP",
            max_correspondence_distance=settings.reach * float(spacing),
            num_threads=1,  # with more, the sum over points has no fixed order and the result no fixed last bit
            max_iterations=settings.iterations,
            rotation_epsilon=settings.tolerance,
            translation_epsilon=settings.tolerance * float(spacing),
        ).T_target_source
        for start in starts
    ]
    return torch.from_numpy(np.stack(refined)).to(starts)


def _as_doubles(values: Tensor) -> np.ndarray:
    return values.numpy(force=True).astype(np.float64)


def polish(source: Source, target: Target, poses: RigidTransform, *, allow_scale: bool = False) -> RigidTransform:
    """Poses ``(*batch, K)`` at the accuracy that the sampling allows; a pose that would get worse is kept as it was.

    Dense clouds by GICP (on a GPU or with a scale: point-to-plane ICP), sparse ones by two-sided point-to-point ICP:
    the neighbors that a covariance needs would span the object.
    """
    sparse = min(source.shape[-2], target.shape[-2]) < DENSE_POINTS
    if sparse or allow_scale:
        refined = refine_icp(source, target, poses, IcpSettings(allow_scale=allow_scale))
        poses = keep_better(score_poses(source, target, poses), score_poses(source, target, refined), poses, refined)
    if sparse:
        return poses
    if allow_scale or source.device.type != "cpu":
        refined = refine_icp(source, target, poses, replace(PLANE_ICP, allow_scale=allow_scale))
    else:
        refined = refine_gicp(source, target, poses)
    return keep_better(surface_score(source, target, poses), surface_score(source, target, refined), poses, refined)


def keep_better(
    before: Float[Tensor, "*batch K"], after: Float[Tensor, "*batch K"], start: RigidTransform, refined: RigidTransform
) -> RigidTransform:
    """The refined poses where their score improved, the start elsewhere."""
    return select_poses(after < before, refined, start)


def select_poses(condition: Bool[Tensor, "*batch"], yes: RigidTransform, no: RigidTransform) -> RigidTransform:
    """``yes`` where the condition holds, ``no`` elsewhere."""
    return RigidTransform(
        torch.where(condition[..., None, None], yes.rotation, no.rotation),
        torch.where(condition[..., None], yes.translation, no.translation),
        torch.where(condition, yes.scale, no.scale),
    )
