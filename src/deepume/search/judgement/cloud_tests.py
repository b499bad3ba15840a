"""Two tests of clouds: could they be two samples of one thing, and does a cloud show its object from one side only?"""

from __future__ import annotations

from functools import cache
from itertools import permutations, product

import torch
from jaxtyping import Float
from torch import Tensor

from deepume.geometry.searchable import IndexedCloud, thin_by_radius
from deepume.search.pair import CloudPair
from deepume.search.policy import Evidence
from deepume.transform import RigidTransform

DIRECTIONS = ((1, 0, 0), (1, 1, 0), (1, 1, 1), (2, 1, 0))
"""Along which pictures are taken, in the frame of the cloud, with all exchanges and signs: 25 in all. No direction is
farther than 23 degrees from one of them."""


def sample_gap(pair: CloudPair, pose: RigidTransform) -> float:
    """By how many standard deviations the clouds differ more than two random halves of all their points would.

    A kernel test (Gretton et al. 2012).
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


def hidden_share(cloud: IndexedCloud, policy: Evidence) -> float:
    """Share of points whose neighbor in a picture lies far behind or before, in the picture where these are fewest.

    What a camera sees lies side by side, from where the camera stood. A whole object has its back behind its front,
    from wherever it is seen.
    """
    points = thin_by_radius(cloud, policy.picture_points) @ cloud.frame.axes
    spacing = cloud.spacing * max(1.0, len(cloud.points) / policy.picture_points) ** 0.5
    directions, planes = _pictures()
    flat, depth = points @ planes, (points @ directions.mT).mT
    halves = flat.square().sum(-1, keepdim=True).mT / 2
    likeness = torch.baddbmm(-halves, flat, flat.mT)  # of a point to all others: largest where they are nearest
    likeness.diagonal(dim1=-2, dim2=-1).fill_(-torch.inf)
    nearest = torch.from_numpy(likeness.numpy().argmax(-1))  # several times as fast as torch's
    gaps = (depth - depth.gather(-1, nearest)).abs()
    return float((gaps > policy.other_side * spacing).sum(-1).min()) / len(points)


@cache
@torch.inference_mode(False)
def _pictures() -> tuple[Float[Tensor, "D 3"], Float[Tensor, "D 3 2"]]:
    """Unit directions, no two of them opposite, and for each two axes across it."""
    turned = (
        tuple(sign * number for sign, number in zip(signs, order, strict=True))
        for numbers in DIRECTIONS
        for order in permutations(numbers)
        for signs in product((1, -1), repeat=3)
    )
    halves = sorted({each for each in turned if each > (0, 0, 0)})
    directions = torch.nn.functional.normalize(torch.tensor(halves, dtype=torch.float64), dim=-1)
    return directions, torch.linalg.svd(directions.unsqueeze(-2)).Vh[:, 1:].mT.contiguous()
