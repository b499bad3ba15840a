"""Points of a prepared pair matched with points, both ways: iterative closest points with the trees at hand."""

from __future__ import annotations

from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from deepume.auto.prepared import PreparedPair
from deepume.rotation import solve_motion
from deepume.transform import RigidTransform

MOST_STEPS = 20
TOLERANCE = 1e-4
"""A pose that moves by less, in entries of its matrix, has converged."""


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


def bring_points_closer(pair: PreparedPair, pose: RigidTransform) -> RigidTransform:
    """The pose after two-sided ICP, as :func:`deepume.icp.refine_icp` has it."""
    weights = each_cloud_half(pair)
    for _ in range(MOST_STEPS):
        matches, before = match_points(pair, pose), pose
        pose = solve_motion(matches.source, matches.target, weights)
        if float((pose.matrix - before.matrix).abs().max()) < TOLERANCE:
            break
    return pose


def each_cloud_half(pair: PreparedPair) -> Float[Tensor, "P"]:
    """Weights of matches with which both clouds count the same, whatever their sizes."""
    sizes = len(pair.source.points), len(pair.target.points)
    return torch.cat([torch.full((size,), 1 / size, dtype=torch.float64) for size in sizes])
