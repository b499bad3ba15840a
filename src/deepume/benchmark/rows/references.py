"""Rows that no user can have: refinement started from the truth, the floor of every table, or half a turn from it."""

from __future__ import annotations

from collections.abc import Callable

from deepume.alignment.gicp import refine_gicp
from deepume.alignment.nearest_points import refine_icp
from deepume.arrays import as_like
from deepume.datasets import Pair
from deepume.geometry.chamfer import chamfer_squared
from deepume.geometry.frames import principal_frame, sign_changes
from deepume.transform import RigidTransform


def icp_from_truth(pair: Pair) -> RigidTransform:
    """Two-sided ICP from the true pose."""
    return refine_icp(pair.source, pair.target, pair.target_from_source[None])[0]


def gicp_from_truth(pair: Pair) -> RigidTransform:
    """GICP from the true pose."""
    return refine_gicp(pair.source, pair.target, pair.target_from_source[None])[0]


def gicp_from_half_turn(pair: Pair) -> RigidTransform:
    """GICP from the true pose turned by 180 degrees about the source's principal axes; the closest fit of the three.

    For a shape with such a symmetry it is as right as the truth, and RMSE(R) calls it wrong.
    """
    origin = pair.source.mean(-2)
    half_turns = as_like(sign_changes(), pair.source)[1:]
    axes = principal_frame(pair.source).axes
    rotations = axes @ half_turns @ axes.mT
    turns = RigidTransform(rotations, origin - rotations @ origin)
    poses = refine_gicp(pair.source, pair.target, pair.target_from_source[None] @ turns)
    targets = pair.target.expand(len(rotations), *pair.target.shape)
    return poses[int(chamfer_squared(poses.apply(pair.source), targets).argmin())]


REFERENCES: dict[str, Callable[[Pair], RigidTransform]] = {
    "truth-icp": icp_from_truth,
    "truth-gicp": gicp_from_truth,
    "half-turn-gicp": gicp_from_half_turn,
}
