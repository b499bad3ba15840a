"""How well a pose explains a pair, without knowing the truth; which poses compete."""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor

from deepume.canonical import local_normals
from deepume.clouds import point_spacing
from deepume.distances import gather_points, nearest
from deepume.transform import RigidTransform
from deepume.types import Source, Target

TRUNCATION = 4.0
"""Distances beyond this many point spacings count as this many: a missing part must not outweigh the rest."""
DISTINCT_ANGLE = 15 * torch.pi / 180
"""Poses closer than this are refinements of one hypothesis, not rivals."""
EQUIVALENT_RATIO = 1.1
"""A rival whose score is within this ratio of the best explains the pair as well."""


def score_poses(
    source: Source, target: Target, target_from_source: RigidTransform, truncation: float = TRUNCATION
) -> Float[Tensor, "*batch K"]:
    """Two-sided truncated mean distance of ``(*batch, K)`` poses, in units of the expected sampling distance.

    0 when the clouds coincide point by point, about 1 when they are two samplings of one surface in its true
    pose, at most ``truncation``. The unit is :func:`deepume.clouds.point_spacing`, so the value means the same for
    64 and for 100,000 points. Swapping the clouds and inverting the poses leaves it unchanged.
    """
    source, target = source.unsqueeze(-3), target.unsqueeze(-3)
    forward = nearest(target_from_source.apply(source), target).distances
    backward = nearest(target_from_source.inverse().apply(target), source).distances
    onto_target = forward / sampling_distance(target).unsqueeze(-1)
    onto_source = backward / sampling_distance(source).unsqueeze(-1)
    return (onto_target.clamp_max(truncation).mean(-1) + onto_source.clamp_max(truncation).mean(-1)) / 2


def sampling_distance(points: Source) -> Float[Tensor, "*batch"]:
    """Point spacing, kept above rounding: a cloud of repeated points has none."""
    size = points.abs().amax((-2, -1))
    return torch.maximum(point_spacing(points), 1e-9 * size)


def surface_score(
    source: Source, target: Target, target_from_source: RigidTransform, truncation: float = TRUNCATION
) -> Float[Tensor, "*batch K"]:
    """As :func:`score_poses`, but measured along the surface normals of both clouds.

    Two samplings of one surface have no points in common, so nearest points prefer a pose that is slightly wrong;
    distances along the normals do not. Needs clouds dense enough for normals (:data:`DENSE_POINTS`).
    """
    source_normals, target_normals = local_normals(source).unsqueeze(-3), local_normals(target).unsqueeze(-3)
    source, target = source.unsqueeze(-3), target.unsqueeze(-3)
    forward = _normal_distances(source, source_normals, target, target_normals, target_from_source)
    backward = _normal_distances(target, target_normals, source, source_normals, target_from_source.inverse())
    onto_target = forward / sampling_distance(target).unsqueeze(-1)
    onto_source = backward / sampling_distance(source).unsqueeze(-1)
    return (onto_target.clamp_max(truncation).mean(-1) + onto_source.clamp_max(truncation).mean(-1)) / 2


def _normal_distances(
    source: Source, source_normals: Source, target: Target, target_normals: Target, pose: RigidTransform
) -> Float[Tensor, "*batch K N"]:
    moved = pose.apply(source)
    rows = nearest(moved, target).indices.unsqueeze(-1)
    offsets = moved - gather_points(target, rows).squeeze(-2)
    along_source = (offsets * (source_normals @ pose.rotation.mT)).sum(-1)
    along_target = (offsets * gather_points(target_normals, rows).squeeze(-2)).sum(-1)
    return ((along_source.square() + along_target.square()) / 2).sqrt()
