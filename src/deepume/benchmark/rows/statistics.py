"""From pairs to a row: means, medians and recalls, with intervals by bootstrap over shapes."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, NamedTuple

import numpy as np
import torch

from deepume.benchmark.suites.suite import Condition
from deepume.datasets.pairs.metrics import calibration_error, calibration_gaps

RESAMPLINGS = 500
"""Bootstrap draws behind each interval."""


LARGE_CLASS = 20
"""Classes with fewer pairs than this share one row."""
DIGITS = 6
"""Significant digits of a figure: more than any reader needs."""
GAP_DECIMALS = 4
"""Decimals of sums over pairs."""
CLOSE = 1.02
"""A pose whose d_C is at most this many times that of the truth fits as well as the truth does."""
DOUBT = 0.5
"""An answer of less confidence than this counts as doubtful."""


class Figure(NamedTuple):
    """A value with its 95 % interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Row:
    """One method under one condition."""

    method: str
    set: str
    scenario: str
    law: str
    points: int
    pairs: int
    figures: dict[str, Figure]
    """By name: see :data:`STATISTICS`."""
    parameters: dict[str, float] = field(default_factory=dict)
    """What a sweep sets in the scenario; empty where the scenario is as it is defined."""
    gaps: list[float] = field(default_factory=list)
    """Its :func:`~deepume.datasets.pairs.metrics.calibration_gaps`; empty where the method states no confidence."""


STATISTICS: dict[str, tuple[str, Callable[[np.ndarray], float]]] = {
    "rotation_mean_deg": ("rotation_deg", np.mean),
    "rotation_median_deg": ("rotation_deg", np.median),
    "recall_5_deg": ("rotation_deg", lambda values: np.mean(values <= 5)),
    "recall_10_deg": ("rotation_deg", lambda values: np.mean(values <= 10)),
    "right": ("right", np.mean),
    "chamfer_ratio_median": ("chamfer_ratio", np.median),
    "as_close_as_truth": ("chamfer_ratio", lambda values: np.mean(values <= CLOSE)),
    "point_rmse_mean": ("point_rmse", np.mean),
    "rmse_r_paper": ("rmse_r_paper", np.mean),
    "rmse_t_paper": ("translation", np.mean),
    "chamfer_squared": ("chamfer_squared", np.mean),
    "hausdorff_squared": ("hausdorff_squared", np.mean),
    "milliseconds_median": ("seconds", lambda values: 1e3 * np.median(values)),
    "doubtful": ("doubt", np.mean),
    "calibration_error": (
        "stated_and_right",
        lambda values: calibration_error(torch.from_numpy(values[:, 0]), torch.from_numpy(values[:, 1])),
    ),
    "resampling_chamfer": ("resampling", np.mean),
}  # pyright: ignore[reportAssignmentType]
"""Figures of a row: what is measured on each pair, and how pairs are put together."""
CONFIDENCE = frozenset({"doubtful", "calibration_error"})
"""Figures of methods that state a confidence."""
OPTIONAL = CONFIDENCE | {"resampling_chamfer", "as_close_as_truth"}
"""Figures that not every row has, or that older records do not."""


def summarize(method: str, condition: Condition, measured: Sequence[Any], *, by_class: bool = False) -> list[Row]:
    """A row from the figures of its pairs and, if requested, one for each large class and one for all others."""
    rows = [_row(method, condition, measured)]
    if by_class:
        counts = Counter(pair.label for pair in measured)
        groups = defaultdict(list)
        for pair in measured:
            groups[pair.label if counts[pair.label] >= LARGE_CLASS else "other classes"].append(pair)
        parts = [(replace(condition, set=f"{condition.set}, {label}"), members) for label, members in groups.items()]
        rows += [_row(method, part, members) for part, members in parts]
    return rows


def _row(method: str, condition: Condition, measured: Sequence[Any]) -> Row:
    columns = {each.name: np.array([getattr(pair, each.name) for pair in measured]) for each in fields(measured[0])}
    draws = bootstrap_draws(columns["shape"])
    columns["stated_and_right"] = np.stack([columns["confidence"], columns["right"]], -1)
    columns["doubt"] = np.where(np.isnan(columns["confidence"]), np.nan, columns["confidence"] < DOUBT)
    figures = {
        name: _figure(columns[column], statistic, draws)
        for name, (column, statistic) in STATISTICS.items()
        if name not in OPTIONAL or not np.isnan(columns[column]).any()
    }
    return Row(
        method=method,
        set=condition.set,
        scenario=condition.scenario,
        law=condition.law,
        points=condition.points,
        pairs=len(measured),
        figures=figures,
        parameters=dict(condition.parameters),
        gaps=[] if np.isnan(columns["confidence"]).any() else _gaps(columns["stated_and_right"]),
    )


def _gaps(values: np.ndarray) -> list[float]:
    stated, right = torch.from_numpy(values).unbind(-1)
    return [round(gap, GAP_DECIMALS) for gap in calibration_gaps(stated, right).tolist()]


def pooled_calibration_error(rows: Sequence[Row]) -> float:
    """The calibration error over the pairs of several rows."""
    gaps = np.sum([row.gaps for row in rows], axis=0)
    return float(np.abs(gaps).sum() / sum(row.pairs for row in rows))


def bootstrap_draws(shapes: np.ndarray) -> list[np.ndarray]:
    """Positions of pairs in each bootstrap draw: shapes are drawn with replacement, with all of their pairs."""
    generator = np.random.default_rng(0)
    names = np.unique(shapes)
    members = [np.flatnonzero(shapes == name) for name in names]
    chosen = generator.integers(len(names), size=(RESAMPLINGS, len(names)))
    return [np.concatenate([members[index] for index in sample]) for sample in chosen]


def _figure(values: np.ndarray, statistic: Callable[[np.ndarray], float], draws: list[np.ndarray]) -> Figure:
    low, high = np.quantile([statistic(values[draw]) for draw in draws], [0.025, 0.975])
    return Figure(*(float(f"{value:.{DIGITS}g}") for value in (statistic(values), low, high)))
