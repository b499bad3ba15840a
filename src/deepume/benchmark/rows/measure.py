"""One method on one pair, compared with the truth."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple, cast

from deepume.api import MOST_POINTS, MethodName, get_method, register
from deepume.benchmark.rows.references import REFERENCES
from deepume.benchmark.rows.resampling import RESAMPLER, resampling_distance
from deepume.benchmark.rows.variants import VARIANTS
from deepume.datasets import Pair, Scenario
from deepume.datasets.pairs.metrics import (
    RIGHT_ANGLE_DEG,
    chamfer_ratio,
    is_right,
    point_rmse,
    rmse_r_paper,
    rotation_error_deg,
    translation_rmse,
)
from deepume.datasets.pairs.scenarios import MISLEADING
from deepume.geometry.chamfer import chamfer_squared, hausdorff_squared
from deepume.result import Registration
from deepume.transform import RigidTransform

OF_EQUAL_SIZE = ("rgm", "rgm-60")
"""Methods that need clouds of equal size, and so take them as they were drawn."""


@dataclass(frozen=True, slots=True)
class PairFigures:
    """Everything measured on one pair by one method."""

    shape: int
    """Index of the shape: intervals are drawn over shapes."""
    label: str
    """Class of the shape."""
    rotation_deg: float
    translation: float
    point_rmse: float
    rmse_r_paper: float
    chamfer_squared: float
    hausdorff_squared: float
    chamfer_ratio: float
    right: float
    seconds: float
    confidence: float
    """Probability of being right that the method states; not a number where it states none."""
    resampling: float = math.nan
    """How far the network moved the points of the clouds; not a number where nobody asked."""


class Answer(NamedTuple):
    """What a method says of a pair."""

    target_from_source: RigidTransform
    confidence: float
    seconds: float


def measure_pair(name: str, pair: Pair) -> PairFigures:
    """Run one method on one pair and compare with the truth."""
    figures = compare(answer_pair(name, pair), pair)
    return replace(figures, resampling=resampling_distance(pair)) if name == RESAMPLER else figures


def compare(answer: Answer, pair: Pair) -> PairFigures:
    """An answer against the truth."""
    estimate = answer.target_from_source
    truth, moved = pair.target_from_source, estimate.apply(pair.source)
    return PairFigures(
        shape=pair.key.index,
        label=pair.label,
        rotation_deg=float(rotation_error_deg(estimate, truth)),
        translation=float(translation_rmse(estimate, truth)),
        point_rmse=float(point_rmse(estimate, truth, pair.source)),
        rmse_r_paper=float(rmse_r_paper(estimate, truth)),
        chamfer_squared=float(chamfer_squared(moved, pair.target)),
        hausdorff_squared=float(hausdorff_squared(moved, pair.target)),
        chamfer_ratio=float(chamfer_ratio(estimate, truth, pair.source, pair.target)),
        right=float(_is_right(estimate, pair)),
        seconds=answer.seconds,
        confidence=answer.confidence,
    )


def _is_right(estimate: RigidTransform, pair: Pair) -> bool:
    """Right by angle or, where both clouds are even samplings of the shape, by a fit as good as the truth's."""
    if pair.key.scenario is Scenario.DIFFERENT:
        return False
    if pair.key.scenario in MISLEADING:
        return bool(rotation_error_deg(estimate, pair.target_from_source) <= RIGHT_ANGLE_DEG)
    return bool(is_right(estimate, pair.target_from_source, pair.source, pair.target))


def answer_pair(name: str, pair: Pair) -> Answer:
    """Pose, stated confidence and wall-clock seconds; the method alone, without further refinement."""
    start = time.perf_counter()
    if name in REFERENCES:
        return Answer(REFERENCES[name](pair), math.nan, time.perf_counter() - start)
    result = VARIANTS.get(name, partial(_register_unrefined, name))(pair)
    confidence = math.nan if result.confidence is None else float(result.confidence)
    float(result.target_from_source.translation.sum())  # a GPU may not be done when the call returns
    return Answer(result.target_from_source, confidence, time.perf_counter() - start)


def _register_unrefined(name: str, pair: Pair) -> Registration:
    too_many = max(len(pair.source), len(pair.target)) > MOST_POINTS
    if too_many or name in OF_EQUAL_SIZE:  # a user's call would thin the clouds, or drop repeated points of one
        return get_method(name)(pair.source, pair.target)
    return register(pair.source, pair.target, method=cast(MethodName, name), refine=False)
