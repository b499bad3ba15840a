"""Methods that know one pair only, applied to a batch."""

from __future__ import annotations

from collections.abc import Callable

from torch import Tensor

from deepume.transform import RigidTransform, Source, Target

PairSolver = Callable[[Tensor, Tensor], RigidTransform]
"""Motion of one pair ``(N, 3)``, ``(M, 3)``."""


def map_pairs(solve: PairSolver, source: Source, target: Target) -> RigidTransform:
    """Motions ``(*batch)`` of all pairs, one after the other: for what cannot be batched."""
    flat = (cloud.reshape(-1, *cloud.shape[-2:]) for cloud in (source, target))
    motions = RigidTransform.stack([solve(*pair) for pair in zip(*flat, strict=True)])
    batch = source.shape[:-2]
    return RigidTransform(
        motions.rotation.reshape(*batch, 3, 3), motions.translation.reshape(*batch, 3), motions.scale.reshape(batch)
    )
