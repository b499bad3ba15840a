"""Two tests of clouds: could they be two samples of one thing, and does a cloud show its object from one side only?"""

from __future__ import annotations

from functools import cache
from itertools import permutations, product

import numpy as np
from jaxtyping import Float

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
    points, weights = np.concat([moved, fixed]), np.concat([_share(len(moved)), -_share(len(fixed))])
    kernel = _gaussian_kernel(points, policy.kernel_width)
    # What follows is of the kernel less its row and column means, which weights of sum 0 do not see.
    count, rows = len(points), kernel.mean(0)
    mean, spent = rows.mean(), weights @ weights
    diagonal = 1 - 2 * rows + mean
    squares = kernel.ravel() @ kernel.ravel() - 2 * count * (rows @ rows) + (count * mean) ** 2
    by_chance = spent * diagonal.sum() / (count - 1)
    variance = 2 * (spent / count) ** 2 * (squares - diagonal @ diagonal)
    return float((weights @ kernel @ weights - by_chance) / np.sqrt(max(variance, 1e-18)))


def _gaussian_kernel(points: Float[np.ndarray, "N 3"], width: float) -> Float[np.ndarray, "N N"]:
    """Likeness of all pairs of points, 1 for a point and itself."""
    scaled = points / width
    halves = (scaled * scaled).sum(-1) / 2
    return np.exp(scaled @ scaled.T - halves - halves[:, None])


def _share(count: int) -> Float[np.ndarray, "N"]:
    return np.full(count, 1 / count)


def hidden_share(cloud: IndexedCloud, policy: Evidence) -> float:
    """Share of points whose neighbor in a picture lies far behind or before, in the picture where these are fewest.

    What a camera sees lies side by side, from where the camera stood. A whole object has its back behind its front,
    from wherever it is seen.
    """
    points = thin_by_radius(cloud, policy.picture_points) @ cloud.frame.axes
    spacing = cloud.spacing * max(1.0, len(cloud.points) / policy.picture_points) ** 0.5
    directions, planes = _pictures()
    flat, depth = points @ planes, (points @ directions.T).T
    halves = (flat * flat).sum(-1)[..., None, :] / 2
    likeness = flat @ flat.mT - halves  # of a point to all others: largest where they are nearest
    likeness[:, np.arange(len(points)), np.arange(len(points))] = -np.inf
    gaps = np.abs(depth - np.take_along_axis(depth, likeness.argmax(-1), -1))
    return float((gaps > policy.other_side * spacing).sum(-1).min()) / len(points)


@cache
def _pictures() -> tuple[Float[np.ndarray, "D 3"], Float[np.ndarray, "D 3 2"]]:
    """Unit directions, no two of them opposite, and for each two axes across it."""
    turned = (
        tuple(sign * number for sign, number in zip(signs, order, strict=True))
        for numbers in DIRECTIONS
        for order in permutations(numbers)
        for signs in product((1, -1), repeat=3)
    )
    halves = sorted({each for each in turned if each > (0, 0, 0)})
    directions = np.array(halves, float)
    directions /= np.linalg.norm(directions, axis=-1, keepdims=True)
    return directions, np.ascontiguousarray(np.linalg.svd(directions[:, None])[2][:, 1:].mT)
