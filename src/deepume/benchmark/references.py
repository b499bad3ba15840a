"""Rows that no user can have: refinement started from the true pose, the floor of every table."""

from __future__ import annotations

from collections.abc import Callable

from deepume.datasets import Pair
from deepume.gicp import refine_gicp
from deepume.icp import refine_icp
from deepume.transform import RigidTransform


def icp_from_truth(pair: Pair) -> RigidTransform:
    """Two-sided ICP from the true pose."""
    return refine_icp(pair.source, pair.target, pair.target_from_source[None])[0]


def gicp_from_truth(pair: Pair) -> RigidTransform:
    """GICP from the true pose."""
    return refine_gicp(pair.source, pair.target, pair.target_from_source[None])[0]


REFERENCES: dict[str, Callable[[Pair], RigidTransform]] = {
    "truth-icp": icp_from_truth,
    "truth-gicp": gicp_from_truth,
}
