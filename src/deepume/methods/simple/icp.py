"""Iterative closest points from the identity rotation: a local method, shown for what it is."""

from __future__ import annotations

import torch

from deepume.alignment.nearest_points import IcpSettings, refine_icp
from deepume.alignment.ranking import rank_hypotheses
from deepume.geometry.clouds import centroid
from deepume.result import Registration
from deepume.transform import RigidTransform, Source, Target

SETTINGS = IcpSettings(iterations=100, two_sided=False)


def register_icp(source: Source, target: Target) -> Registration:
    """Classic point-to-point ICP (Besl and McKay): every source point finds a partner, however far.

    Starts from coinciding centroids and no rotation, so it answers for rotations of some 40 degrees, no more.
    Differs from the paper: its ICP rows equal the identity, the mark of a correspondence distance set too small.
    """
    rotation = torch.eye(3, dtype=source.dtype, device=source.device).expand(*source.shape[:-2], 1, 3, 3)
    start = RigidTransform(rotation, (centroid(target) - centroid(source)).unsqueeze(-2))
    return rank_hypotheses(source, target, refine_icp(source, target, start, SETTINGS))
