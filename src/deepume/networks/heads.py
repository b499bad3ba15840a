"""The last step of a pass: sums over both clouds, and the motion that they determine in closed form (Procrustes)."""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor

from deepume.geometry.clouds import center, centroid
from deepume.geometry.moments import moment_matrix
from deepume.geometry.rotation import correlation
from deepume.networks.estimate import Fit, Pair
from deepume.transform import Vectors


def fit_moments(canonical: Pair, resampled: Pair, features: Pair) -> Fit:
    """Motion between the resampled clouds: rotation from their moments, translation from their means."""
    moments = [moment_matrix(center(cloud), rows) for cloud, rows in zip(resampled, features, strict=True)]
    return Fit(correlation(*moments), centroid(resampled.source), centroid(resampled.target))


def fit_displacement(canonical: Pair, resampled: Pair, features: Pair) -> Fit:
    """Motion that carries source points to where they were moved, and moved target points to where they were.

    Least squares over both clouds; the mean feature of a point is its weight.
    """
    starts = torch.cat([canonical.source, resampled.target], -2)
    ends = torch.cat([resampled.source, canonical.target], -2)
    weights = torch.cat([rows.mean(-1) / rows.shape[-2] for rows in features], -1)
    share = weights / weights.sum(-1, keepdim=True)
    source_mean, target_mean = _mean(starts, share), _mean(ends, share)
    matrix = correlation(starts - source_mean.unsqueeze(-2), ends - target_mean.unsqueeze(-2), share)
    return Fit(matrix, source_mean, target_mean)


def _mean(points: Float[Tensor, "*batch N 3"], share: Float[Tensor, "*batch N"]) -> Vectors:
    return (share.unsqueeze(-2) @ points).squeeze(-2)
