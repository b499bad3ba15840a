"""Results of single pairs as the result of a batch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import torch
from torch import Tensor

from deepume.geometry.rotation import nearest_rotation
from deepume.result import Hypothesis, Registration
from deepume.transform import RigidTransform


def stack_results(results: Sequence[Registration], batch: Sequence[int]) -> Registration:
    """One result of shape ``batch``; pairs with fewer hypotheses get repetitions of score infinity.

    The symmetry of a batch is left out: it is a list of axes for each pair.
    """
    most = max(len(each.hypotheses) for each in results)
    ranks = zip(*(_padded(each, most) for each in results), strict=True)
    return Registration(
        target_from_source=_stack_poses([each.target_from_source for each in results], batch),
        score=_stack([each.score for each in results], batch),
        ambiguous=_stack([each.ambiguous for each in results], batch),
        hypotheses=tuple(_stack_hypotheses(rank, batch) for rank in ranks),
        confidence=_stack([each.confidence for each in results], batch),
        residuals=_stack([each.residuals for each in results], batch),
        covariance=_stack([each.covariance for each in results], batch),
        spacings=_stack([each.spacings for each in results], batch),
    )


def _padded(result: Registration, count: int) -> list[Hypothesis]:
    first = result.hypotheses[0]
    missing = replace(first, score=first.score * torch.inf, equivalent=~first.equivalent)
    return [*result.hypotheses, *[missing] * (count - len(result.hypotheses))]


def _stack_hypotheses(members: Sequence[Hypothesis], batch: Sequence[int]) -> Hypothesis:
    return Hypothesis(
        _stack_poses([each.target_from_source for each in members], batch),
        _stack([each.score for each in members], batch),
        _stack([each.equivalent for each in members], batch),
    )


def _stack_poses(poses: Sequence[RigidTransform], batch: Sequence[int]) -> RigidTransform:
    return RigidTransform(
        _stack([each.rotation for each in poses], batch), _stack([each.translation for each in poses], batch)
    )


def _stack(parts: Sequence[Tensor | None], batch: Sequence[int]) -> Tensor:
    present = [part for part in parts if part is not None]
    return torch.stack(present).reshape(*batch, *present[0].shape)


def to_dtype(result: Registration, like: Tensor) -> Registration:
    """The result of one pair in the precision and on the device of its clouds.

    Everything is copied: what inference mode has made cannot take part in anybody's gradient.
    """
    move = partial(torch.Tensor.to, copy=True)

    def pose(motion: RigidTransform) -> RigidTransform:
        rotation, translation = move(motion.rotation, like), move(motion.translation, like)
        return RigidTransform(rotation if like.dtype == torch.float64 else nearest_rotation(rotation), translation)

    parts = {name: getattr(result, name) for name in ("score", "confidence", "residuals", "covariance", "spacings")}
    moved = {name: None if value is None else move(value, like) for name, value in parts.items()}
    hypotheses = tuple(
        Hypothesis(pose(each.target_from_source), move(each.score, like), move(each.equivalent, like.device))
        for each in result.hypotheses
    )
    symmetry = result.symmetry
    return replace(
        result,
        target_from_source=pose(result.target_from_source),
        ambiguous=move(result.ambiguous, like.device),
        hypotheses=hypotheses,
        symmetry=None if symmetry is None else replace(symmetry, axes=symmetry.axes.clone()),
        **moved,
    )
