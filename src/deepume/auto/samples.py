"""Whether two clouds, laid on each other, could be two samples of one thing: a kernel test (Gretton et al. 2012)."""

from __future__ import annotations

import torch

from deepume.auto.cloud import thin_by_radius
from deepume.auto.prepared import PreparedPair
from deepume.transform import RigidTransform

MOST_POINTS = 160
"""Points of each cloud that are compared; the test takes a matrix of all their distances."""
KERNEL_WIDTH = 1.0
"""Of the Gaussian kernel, in sizes of the pair: it sees what is missing at one end of an object, not single points."""


def sample_gap(pair: PreparedPair, pose: RigidTransform) -> float:
    """By how many standard deviations the clouds differ more than two random halves of all their points would.

    The difference is w^T K w, with the kernel K of all points and weights w of 1/m for m points of one cloud and -1/n
    for n of the other. Mean and variance are those over all ways to deal out the same weights.
    """
    moved = thin_by_radius(pose.apply(pair.source.points), MOST_POINTS)
    fixed = thin_by_radius(pair.target.points, MOST_POINTS)
    points, weights = torch.cat([moved, fixed]), torch.cat([_share(len(moved)), -_share(len(fixed))])
    kernel = torch.exp(-torch.cdist(points, points).square() / (2 * KERNEL_WIDTH**2))
    rows = kernel.mean(0)
    kernel = kernel - rows - rows.unsqueeze(-1) + rows.mean()
    diagonal, spent = kernel.diagonal(), weights.square().sum()
    by_chance = spent * diagonal.sum() / (len(points) - 1)
    variance = 2 * (spent / len(points)) ** 2 * (kernel.square().sum() - diagonal.square().sum())
    return float((weights @ kernel @ weights - by_chance) / variance.clamp_min(1e-18).sqrt())


def _share(count: int) -> torch.Tensor:
    return torch.full((count,), 1 / count, dtype=torch.float64)
