"""Methods that know one pair only, applied to a batch; their results as the result of a batch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from deepume.arrays import Array, namespace
from deepume.result import Hypothesis, Registration
from deepume.transform import RigidTransform, Source, Target

PairSolver = Callable[[Array, Array], RigidTransform]
"""Motion of one pair ``(N, 3)``, ``(M, 3)``."""


def map_pairs(solve: PairSolver, source: Source, target: Target) -> RigidTransform:
    """Motions ``(*batch)`` of all pairs, one after the other: for what cannot be batched."""
    flat = (cloud.reshape(-1, *cloud.shape[-2:]) for cloud in (source, target))
    motions = RigidTransform.stack([solve(*pair) for pair in zip(*flat, strict=True)])
    batch = source.shape[:-2]
    return RigidTransform(
        motions.rotation.reshape(*batch, 3, 3), motions.translation.reshape(*batch, 3), motions.scale.reshape(batch)
    )


def stack_results(results: Sequence[Registration], batch: Sequence[int]) -> Registration:
    """One result of shape ``batch``; pairs with fewer hypotheses get repetitions of score infinity.

    The symmetry of a batch is left out: it is a list of axes for each pair.
    """

    def values(parts: Sequence[Array]) -> Array:
        return namespace(parts[0]).stack(list(parts)).reshape(*batch, *parts[0].shape)

    def poses(parts: Sequence[RigidTransform]) -> RigidTransform:
        return RigidTransform(values([each.rotation for each in parts]), values([each.translation for each in parts]))

    most = max(len(each.hypotheses) for each in results)
    padded = [replace(each, hypotheses=_pad(each, most)) for each in results]
    return replace(Registration.combine(padded, poses, values), symmetry=None)


def _pad(result: Registration, count: int) -> tuple[Hypothesis, ...]:
    first = result.hypotheses[0]
    missing = replace(first, score=first.score * np.inf, equivalent=~first.equivalent)
    return (*result.hypotheses, *[missing] * (count - len(result.hypotheses)))
