"""Points of a prepared pair matched with points, both ways: the nearest ones, or the mean of likely ones."""

from __future__ import annotations

from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from deepume.alignment.indexed_cloud import PreparedCloud
from deepume.alignment.indexed_pair import PreparedPair
from deepume.geometry.neighbors import gather_points
from deepume.geometry.rotation import solve_motion
from deepume.transform import RigidTransform

MOST_STEPS = 20
TOLERANCE = 1e-4
"""A pose that moves by less, in entries of its matrix, has converged."""
SOFT_NEIGHBORS = 8
"""Points that may be the original of a noisy one."""
SOFT_STEPS = 10
SOFT_TOLERANCE = 1e-5
EAGERNESS = 1.5
"""Soft partners hold a pose back: it goes this many times as far as they say, and arrives in fewer steps."""


class Matches(NamedTuple):
    """Every point of both clouds with its nearest of the other."""

    source: Float[Tensor, "P 3"]
    target: Float[Tensor, "P 3"]
    distances: Float[Tensor, "P"]


def match_points(pair: PreparedPair, pose: RigidTransform) -> Matches:
    """The matches that a pose makes: those of the source's points, then those of the target's."""
    source, target = pair.source.points, pair.target.points
    forward, backward = pair.target.nearest(pose.apply(source)), pair.source.nearest(pose.inverse().apply(target))
    return Matches(
        torch.cat([source, source[backward.indices]]),
        torch.cat([target[forward.indices], target]),
        torch.cat([forward.distances, backward.distances]),
    )


def bring_points_closer(pair: PreparedPair, pose: RigidTransform, steps: int = MOST_STEPS) -> RigidTransform:
    """The pose after two-sided ICP, as :func:`deepume.alignment.nearest_points.refine_icp` has it."""
    weights = each_cloud_half(pair)
    for _ in range(steps):
        matches, before = match_points(pair, pose), pose
        pose = solve_motion(matches.source, matches.target, weights)
        if float((pose.matrix - before.matrix).abs().max()) < TOLERANCE:
            break
    return pose


def each_cloud_half(pair: PreparedPair) -> Float[Tensor, "P"]:
    """Weights of matches with which both clouds count the same, whatever their sizes."""
    sizes = len(pair.source.points), len(pair.target.points)
    return torch.cat([torch.full((size,), 1 / size, dtype=torch.float64) for size in sizes])


def assign_softly(pair: PreparedPair, pose: RigidTransform) -> RigidTransform:
    """The pose of noisy clouds: every point's partner is the mean of its likely originals.

    Expectation maximization with Gaussian noise whose variance is estimated along with the pose; with nearest points
    alone the pose errs about a quarter more.
    """
    source, target = pair.source.points, pair.target.points
    weights, variance = each_cloud_half(pair), None
    for _ in range(SOFT_STEPS):
        forward = _expect_partners(source, pair.target, pose, variance)
        backward = _expect_partners(target, pair.source, pose.inverse(), variance)
        variance = (forward.variance + backward.variance) / 2
        before = pose
        pose = solve_motion(torch.cat([source, backward.points]), torch.cat([forward.points, target]), weights)
        if float((pose.matrix - before.matrix).abs().max()) < SOFT_TOLERANCE:
            break
    return pose


class _Partners(NamedTuple):
    """Expected partners of one cloud's points in the other."""

    points: Float[Tensor, "N 3"]
    """As far beyond them as the pose is to go."""
    variance: Float[Tensor, ""]
    """Mean squared distance to them, for each coordinate."""


def _expect_partners(
    moving: Float[Tensor, "N 3"], fixed: PreparedCloud, pose: RigidTransform, variance: Tensor | None
) -> _Partners:
    """Means over the nearest points, each as likely as Gaussian noise makes it; at first, of the nearest distances."""
    moved = pose.apply(moving)
    distances, rows = fixed.k_nearest(moved, min(SOFT_NEIGHBORS, len(fixed.points)))
    squares = distances.square()
    variance = squares[:, 0].mean() / 2 if variance is None else variance
    likely = torch.softmax(-squares / (2 * variance.clamp_min(1e-18)), -1)
    points = (likely.unsqueeze(-1) * gather_points(fixed.points, rows)).sum(-2)
    return _Partners(moved + EAGERNESS * (points - moved), (likely * squares).sum(-1).mean() / 3)
