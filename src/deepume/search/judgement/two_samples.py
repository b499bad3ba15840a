"""Whether two clouds, laid on each other, could be two samples of one thing: a kernel test (Gretton et al. 2012)."""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor

from deepume.geometry.searchable import thin_by_radius
from deepume.search.pair import CloudPair
from deepume.transform import RigidTransform


def sample_gap(pair: CloudPair, pose: RigidTransform) -> float:
    """By how many standard deviations the clouds differ more than two random halves of all their points would.

    The difference is w^T K w, with the kernel K of all points and weights w of 1/m for m points of one cloud and -1/n
    for n of the other. Mean and variance are those over all ways to deal out the same weights.
    """
    policy = pair.policy.evidence
    moved = pose.apply(thin_by_radius(pair.source, policy.test_points))
    fixed = thin_by_radius(pair.target, policy.test_points)
    points, weights = torch.cat([moved, fixed]), torch.cat([_share(len(moved)), -_share(len(fixed))])
    kernel = _gaussian_kernel(points, policy.kernel_width)
    # What follows is of the kernel less its row and column means, which weights of sum 0 do not see.
    count, rows = len(points), kernel.mean(0)
    mean, spent = rows.mean(), weights.square().sum()
    diagonal = 1 - 2 * rows + mean
    squares = kernel.flatten() @ kernel.flatten() - 2 * count * (rows @ rows) + (count * mean) ** 2
    by_chance = spent * diagonal.sum() / (count - 1)
    variance = 2 * (spent / count) ** 2 * (squares - diagonal @ diagonal)
    return float((weights @ kernel @ weights - by_chance) / variance.clamp_min(1e-18).sqrt())


def _gaussian_kernel(points: Float[Tensor, "N 3"], width: float) -> Float[Tensor, "N N"]:
    """Likeness of all pairs of points, 1 for a point and itself."""
    scaled = points / width
    halves = scaled.square().sum(-1) / 2
    return torch.addmm(-halves, scaled, scaled.mT).sub_(halves.unsqueeze(-1)).exp_()


def _share(count: int) -> Float[Tensor, "N"]:
    return torch.full((count,), 1 / count, dtype=torch.float64)
