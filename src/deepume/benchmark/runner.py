"""Run a suite: every method sees the same pairs, whatever the order."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import torch

from deepume.api import list_methods, register
from deepume.benchmark.references import REFERENCES
from deepume.benchmark.statistics import Row, summarize
from deepume.benchmark.suites import Suite
from deepume.benchmark.variants import VARIANTS
from deepume.datasets import Pair, Scenario, make_pair, open_set
from deepume.distances import chamfer_squared, hausdorff_squared
from deepume.errors import MissingPackageError, require_known
from deepume.metrics import (
    chamfer_ratio,
    is_right,
    point_rmse,
    rmse_r_paper,
    rotation_error_deg,
    translation_rmse,
)
from deepume.result import Registration
from deepume.transform import RigidTransform
from deepume.weights import WeightsError


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


Progress = Callable[[str, PairFigures], None]
"""Hears the name of the method and its figures after each pair."""
Skip = Callable[[str, str], None]
"""Called once for a method that lacks its weights or its package, with its name and what to do about it."""


def run_suite(
    suite: Suite,
    folder: Path | None,
    progress: Progress = lambda name, figures: None,
    skip: Skip = lambda name, reason: None,
    device: str | torch.device = "cpu",
) -> list[Row]:
    """One row for each method and condition, in the order of the suite; methods that cannot run here are skipped."""
    for name in suite.methods:
        require_known("method", name, [*list_methods(), *VARIANTS, *REFERENCES])
    rows: list[Row] = []
    methods = list(suite.methods)
    for condition in suite.conditions():
        dataset = open_set(condition.set, folder)
        keys = condition.keys(dataset, suite.pairs_of(condition.set), suite.seed, suite.stride)
        pairs = [make_pair(dataset, key).to(device) for key in keys]
        for name in list(methods):
            try:
                measured = list(_measure_all(name, pairs, progress))
                rows += summarize(name, condition, measured, by_class=condition.set in suite.by_class)
            except (MissingPackageError, WeightsError) as error:
                methods.remove(name)
                skip(name, str(error))
    return rows


def _measure_all(name: str, pairs: list[Pair], progress: Progress) -> Iterator[PairFigures]:
    for pair in pairs:
        figures = measure_pair(name, pair)
        progress(name, figures)
        yield figures


def measure_pair(name: str, pair: Pair) -> PairFigures:
    """Run one method on one pair and compare with the truth."""
    estimate, confidence, seconds = _estimate(name, pair)
    truth, moved = pair.target_from_source, estimate.apply(pair.source)
    possible = pair.key.scenario is not Scenario.DIFFERENT
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
        right=float(is_right(estimate, truth, pair.source, pair.target)) if possible else 0.0,
        seconds=seconds,
        confidence=confidence,
    )


def _estimate(name: str, pair: Pair) -> tuple[RigidTransform, float, float]:
    """Pose, stated confidence and wall-clock seconds; the method alone, without further refinement."""
    start = time.perf_counter()
    if name in REFERENCES:
        return REFERENCES[name](pair), math.nan, time.perf_counter() - start
    result = VARIANTS.get(name, partial(_register_alone, name))(pair)
    confidence = math.nan if result.confidence is None else float(result.confidence)
    float(result.target_from_source.translation.sum())  # a GPU may not be done when the call returns
    return result.target_from_source, confidence, time.perf_counter() - start


def _register_alone(name: str, pair: Pair) -> Registration:
    return register(pair.source, pair.target, method=name, refine=False)
