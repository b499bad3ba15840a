"""No motion at all: what a table's errors are when nothing is done."""

from __future__ import annotations

import torch

from deepume.alignment.ranking import rank_hypotheses
from deepume.result import Registration
from deepume.transform import RigidTransform, Source, Target


def register_identity(source: Source, target: Target) -> Registration:
    """The identity, scored like any other pose."""
    batch = source.shape[:-2]
    rotation = torch.eye(3, dtype=source.dtype, device=source.device).expand(*batch, 1, 3, 3)
    return rank_hypotheses(source, target, RigidTransform(rotation, source.new_zeros(*batch, 1, 3)))
