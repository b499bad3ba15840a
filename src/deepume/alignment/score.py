"""How well a pose explains a pair, without knowing the truth; which poses compete."""

from __future__ import annotations

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from deepume.geometry.neighbors import gather_points, nearest
from deepume.geometry.normals import along_normals, local_normals
from deepume.geometry.rotation import geodesic_angle
from deepume.geometry.rotation_grids import distinct_mask
from deepume.geometry.spacing import NEIGHBOR_SPREAD, sampling_distance
from deepume.result import Hypothesis, Registration
from deepume.transform import RigidTransform, Source, Target

Scores = Float[Tensor, "*batch K"]

TRUNCATION = 4.0
"""Distances beyond this many point spacings count as this many: a missing part must not outweigh the rest."""
DISTINCT_ANGLE = 15 * torch.pi / 180
"""Poses closer than this are refinements of one hypothesis, not rivals."""
EXACT_SCORE = 1e-4
"""Scores below this are rounding: the clouds coincide point by point, and so they do for every rival below it."""
MOST_HYPOTHESES = 8
"""Candidates that a result lists at most."""


def score_poses(
    source: Source, target: Target, target_from_source: RigidTransform, truncation: float = TRUNCATION
) -> Scores:
    """Two-sided truncated mean distance of ``(*batch, K)`` poses, in units of the expected sampling distance.

    0 when the clouds coincide point by point, about 1 when they are two samplings of one surface in its true
    pose, at most ``truncation``. The unit is :func:`~deepume.geometry.spacing.point_spacing`, so the value means the
    same for 64 and for 100,000 points. Swapping the clouds and inverting the poses leaves it unchanged.
    """
    units = sampling_distance(source), sampling_distance(target)
    source, target = source.unsqueeze(-3), target.unsqueeze(-3)
    forward = nearest(target_from_source.apply(source), target).distances
    backward = nearest(target_from_source.inverse().apply(target), source).distances
    return two_sided_score(forward, backward, *units, truncation)


def surface_score(
    source: Source, target: Target, target_from_source: RigidTransform, truncation: float = TRUNCATION
) -> Scores:
    """As :func:`score_poses`, but measured along the surface normals of both clouds.

    Two samplings of one surface have no points in common, so nearest points prefer a pose that is slightly wrong;
    distances along the normals do not. Needs clouds dense enough for normals.
    """
    units = sampling_distance(source), sampling_distance(target)
    source_normals, target_normals = (local_normals(each).unsqueeze(-3) for each in (source, target))
    source, target = source.unsqueeze(-3), target.unsqueeze(-3)
    forward = _onto_surface(source, source_normals, target, target_normals, target_from_source)
    backward = _onto_surface(target, target_normals, source, source_normals, target_from_source.inverse())
    return two_sided_score(forward, backward, *units, truncation)


def two_sided_score(
    forward: Tensor, backward: Tensor, source_spacing: Tensor, target_spacing: Tensor, truncation: float = TRUNCATION
) -> Tensor:
    """Mean of the two truncated mean distances, each in the spacing of the cloud that was searched."""
    onto_target = (forward / target_spacing[..., None, None]).clamp_max(truncation)
    onto_source = (backward / source_spacing[..., None, None]).clamp_max(truncation)
    return (onto_target.mean(-1) + onto_source.mean(-1)) / 2


def _onto_surface(
    moving: Source, moving_normals: Source, fixed: Target, fixed_normals: Target, pose: RigidTransform
) -> Tensor:
    """Distances to the nearest points along the normals."""
    moved = pose.apply(moving)
    rows = nearest(moved, fixed).indices.unsqueeze(-1)
    offsets = moved - gather_points(fixed, rows).squeeze(-2)
    return along_normals(offsets, moving_normals @ pose.rotation.mT, gather_points(fixed_normals, rows).squeeze(-2))


def is_distinct(poses: RigidTransform, other: RigidTransform) -> Bool[Tensor, "*batch"]:
    """True where poses and the other are two hypotheses, not refinements of one."""
    return geodesic_angle(poses.rotation, other.rotation) > DISTINCT_ANGLE


def best_distinct(poses: RigidTransform, scores: Scores, count: int, angle: float = DISTINCT_ANGLE) -> RigidTransform:
    """The ``count`` best of ``(*batch, K)`` poses, no two of which are refinements of one hypothesis if avoidable."""
    distinct = distinct_mask(poses.rotation, scores, angle)
    # Repeated candidates come last rather than out, so that every pair of a batch keeps the same number.
    order = (scores + torch.where(distinct, 0.0, 1e6)).argsort(dim=-1, stable=True)[..., :count]
    return take_poses(poses, order)


def take_poses(poses: RigidTransform, order: Tensor) -> RigidTransform:
    """Poses ``(*batch, K)`` at the given positions along the last batch axis."""
    scale = poses.scale if poses.scale.dim() == 0 else poses.scale.take_along_dim(order, -1)
    return RigidTransform(
        poses.rotation.take_along_dim(order[..., None, None], -3),
        poses.translation.take_along_dim(order[..., None], -2),
        scale,
    )


def rank_hypotheses(source: Source, target: Target, poses: RigidTransform) -> Registration:
    """Registration by the best-scored of ``(*batch, K)`` poses; its distinct rivals are listed, best first."""
    scores = score_poses(source, target, poses)
    scores = scores.masked_fill(~distinct_mask(poses.rotation, scores, DISTINCT_ANGLE), torch.inf)
    scores, order = scores.sort(dim=-1, stable=True)
    poses = take_poses(poses, order)
    equivalent = explains_as_well(scores, source.shape[-2] + target.shape[-2])
    listed = [k for k in range(min(MOST_HYPOTHESES, scores.shape[-1])) if scores[..., k].isfinite().any()]
    best = poses[..., 0]
    return Registration(
        target_from_source=best,
        score=scores[..., 0],
        ambiguous=equivalent[..., 1:].any(-1),
        hypotheses=tuple(Hypothesis(poses[..., k], scores[..., k], equivalent[..., k]) for k in listed),
        residuals=nearest(best.apply(source), target).distances,
    )


def explains_as_well(scores: Scores, points: int) -> Bool[Tensor, "*batch K"]:
    """True where a score exceeds the first, the best or one to compare with, by no more than chance or rounding.

    Chance is three standard deviations of a mean over as many points as both clouds have.
    """
    tolerance = 3 * NEIGHBOR_SPREAD * (2 / points) ** 0.5
    return scores <= scores[..., :1] * (1 + tolerance) + EXACT_SCORE
