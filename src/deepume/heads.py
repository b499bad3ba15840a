"""Heads of the default network: the motion between two clouds in one frame, from displacements and features."""

from __future__ import annotations

import torch
from jaxtyping import Bool
from torch import Tensor

from deepume.clouds import center, centroid
from deepume.moments import moment_matrix
from deepume.network import Pair
from deepume.rotation import solve_motion, solve_rotation
from deepume.transform import RigidTransform, motion_between, rigid_motion

ALIKE = 0.45
"""Weights whose logarithms spread by less are those of noisy copies: 0.05 to 0.45 on validation shapes, by the noise.
Those of two samplings spread by 0.5 to 1.1 with 1,024 points, by more with fewer, by 2 and more with shared points."""


def solve_by_moments(canonical: Pair, resampled: Pair, features: Pair) -> RigidTransform:
    """Motion between the resampled clouds: rotation from their moments, translation from their means."""
    moments = (moment_matrix(center(cloud), rows) for cloud, rows in zip(resampled, features, strict=True))
    rotation = solve_rotation(*moments)
    return motion_between(centroid(resampled.source), centroid(resampled.target), rotation)


def solve_by_displacement(canonical: Pair, resampled: Pair, features: Pair) -> RigidTransform:
    """Motion that carries source points to where they were moved, and moved target points to where they were.

    Least squares over both clouds; the mean feature of a point is its weight.
    """
    starts = torch.cat([canonical.source, resampled.target], -2)
    ends = torch.cat([resampled.source, canonical.target], -2)
    weights = torch.cat([rows.mean(-1) / rows.shape[-2] for rows in features], -1)
    motion = solve_motion(starts, ends, weights)
    return rigid_motion(motion.rotation, motion.translation)


def weigh_alike(features: Pair) -> Bool[Tensor, "*batch"]:
    """Whether all points have nearly the same weight, which is their mean feature.

    Of two samplings some points tell more of the pose than others. In a noisy copy every point has its twin.
    """
    tiny = torch.finfo(features.source.dtype).tiny
    logarithms = torch.cat([rows.mean(-1).clamp_min(tiny).log() for rows in features], -1)
    return logarithms.std(-1) < ALIKE
