"""Clouds with points in common, exact or noisy: what tells them from independent samplings, and how to use them."""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor

from deepume.alignment.indexed_cloud import DENSITY_NEIGHBOR, PreparedCloud
from deepume.alignment.indexed_pair import PreparedPair
from deepume.alignment.soft_matching import match_points
from deepume.geometry.rotation import solve_motion
from deepume.transform import RigidTransform

LOCK_STEPS = 16
LOCK_SHRINKAGE = 0.7
"""The scale of the robust kernel shrinks by this factor a step: from half a spacing to 1/600 of one."""
SHARED_DISTANCE = 0.02
"""Points closer than this many spacings are the same point: for independent samplings 1 in 3,000 is by chance."""
FEWEST_SHARED = 6
"""A motion can bring two points onto two others, and a third nearly; more in one place are no accident."""
SHARED_PART = 0.03
"""Part of the smaller cloud that must be shared."""
COPIES_SPREAD = 0.17
"""Where local densities agree better than this, clouds are copies: independent samplings have 0.25 (0.20 to 0.28 on
validation shapes), noisy copies at most 0.16 with noise up to the point spacing."""
DENSITY_QUERIES = 256
"""Points that are asked for their density; more would not tell more."""
FEWEST_COPIES = 20
"""Smaller clouds have no local density."""
MOMENTS_AGREE = 0.4
"""Moments that differ by less than this part of what sampling does belong to copies: of 115 validation pairs of noisy
samplings 2 do, of 76 copies with noise above the point spacing 72 do."""


def lock_onto_shared(pair: PreparedPair, pose: RigidTransform) -> RigidTransform | None:
    """The pose that shared points give, exact to rounding; None where the clouds share none.

    A robust kernel (Geman and McClure) whose scale shrinks step by step: pairs that are no copies drop out.
    """
    scale = 0.5 * torch.maximum(pair.source.spacing, pair.target.spacing)
    near, fewest = 2 * SHARED_DISTANCE * scale, 2 * max(FEWEST_SHARED, SHARED_PART * pair.smaller_size)
    for _ in range(LOCK_STEPS):
        source, target, distances = match_points(pair, pose)
        weights = 1 / (1 + (distances / scale).square()).square()
        if int((distances < near).sum()) >= fewest:
            pose = solve_motion(source, target, (distances < near).to(distances))
            break
        if float(weights.sum()) < fewest / 2:  # no copies are in sight, and the kernel only gets narrower
            return None
        pose, scale = solve_motion(source, target, weights), LOCK_SHRINKAGE * scale
    source, target, distances = match_points(pair, pose)
    same = distances < near
    return solve_motion(source[same], target[same]) if int(same.sum()) >= fewest else None


def are_copies(pair: PreparedPair, pose: RigidTransform) -> bool:
    """True where one cloud is a noisy copy of the other, seen from how well their local densities agree.

    The distance to the k-th neighbor varies from place to place as points happen to fall. In a copy it varies in the
    same way, in another sampling it does not: the spread of its ratio, in logarithms, is near (2 k)^(-1/2) then.
    """
    if pair.smaller_size < FEWEST_COPIES:
        return False
    spreads = (
        _density_spread(pair.source, pair.target, pose),
        _density_spread(pair.target, pair.source, pose.inverse()),
    )
    return float(sum(spreads)) / 2 < COPIES_SPREAD


def _density_spread(moving: PreparedCloud, fixed: PreparedCloud, pose: RigidTransform) -> Float[Tensor, ""]:
    asked = moving.rows_by_radius(DENSITY_QUERIES)
    there = fixed.k_nearest(pose.apply(moving.points[asked]), DENSITY_NEIGHBOR).distances[:, -1]
    return (there / moving.neighbor_distances[asked, -1]).log().std()


def are_one_to_one(pair: PreparedPair, pose: RigidTransform) -> bool:
    """True where the clouds have the same points but for noise, seen from their moments."""
    return len(pair.source.points) == len(pair.target.points) and moment_gap(pair, pose) < MOMENTS_AGREE


def moment_gap(pair: PreparedPair, pose: RigidTransform) -> float:
    """How far the first and second moments of the clouds are apart, compared with what sampling does: 1, if it alone.

    Two samplings of an object have different moments, by the root of two over the number of points; noise on the
    points of one changes them far less. The mean of the variances is left out: noise adds to it. Seen from the frames
    of both clouds, so that it does not matter which is called source.
    """
    moved, fixed = pose.apply(pair.source.points), pair.target.points
    middle = (moved.mean(0) + fixed.mean(0)) / 2
    axes = torch.stack([pose.rotation @ pair.source.frame.axes, pair.target.frame.axes])
    terms, others = _moment_terms((moved - middle) @ axes), _moment_terms((fixed - middle) @ axes)
    by_chance = terms.var(-2) / len(moved) + others.var(-2) / len(fixed)
    squares = (terms.mean(-2) - others.mean(-2)).square() / by_chance.clamp_min(torch.finfo(terms.dtype).tiny)
    return float(squares.mean().sqrt())


def _moment_terms(points: Float[Tensor, "F N 3"]) -> Float[Tensor, "F N 8"]:
    x, y, z = points.unbind(-1)
    return torch.stack([x, y, z, x * y, y * z, z * x, x.square() - y.square(), y.square() - z.square()], -1)
