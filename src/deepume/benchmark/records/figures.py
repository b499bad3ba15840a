"""The paper's figures from records: error against density and noise, surfaces over two densities, ambiguous shapes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from deepume.benchmark.rows.statistics import Row
from deepume.io.pictures import load_pyplot, to_png

COLORS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000", "#999999")
"""Color-blind readers can distinguish them."""
ERROR = "rmse_r_paper"
ERROR_TITLE = "RMSE(R), degrees"
BROAD_CLASSES = 12
"""Classes shown in the figure of ambiguity, the most ambiguous first."""

SURFACES = ("deepume-paper", "auto")
"""Methods whose surfaces are drawn, where they were measured; the tables have the others."""

Draw = Callable[[Any, Sequence[Row]], Any]
"""Makes a figure of pyplot from rows."""


def draw_figure(suite: str, rows: Sequence[Row]) -> bytes | None:
    """The figure of a suite as PNG; None for a suite that has only tables."""
    draw = FIGURES.get(suite)
    return None if draw is None or not rows else to_png(draw(load_pyplot(), rows))


def draw_density(pyplot: Any, rows: Sequence[Row]) -> Any:
    """Error against the number of points, a panel for each set."""
    return _draw_curves(pyplot, rows, lambda row: row.points, "points in each cloud", "log")


def draw_noise(pyplot: Any, rows: Sequence[Row]) -> Any:
    """Error against noise, a panel for each set; dashed, where it was measured, the error at zero intersection."""
    swept = [row for row in rows if row.parameters]
    figure = _draw_curves(pyplot, swept, lambda row: row.parameters["std"], "standard deviation of the noise", "linear")
    for panel, name in zip(figure.axes, _unique(row.set for row in swept), strict=True):
        colors = {line.get_label(): line.get_color() for line in panel.get_lines()}
        for row in rows:
            if row.set == name and row.method in colors and not row.parameters:
                panel.axhline(_error(row), color=colors[row.method], linestyle="--", linewidth=0.8)
    return figure


def _draw_curves(pyplot: Any, rows: Sequence[Row], place: Callable[[Row], float], title: str, scale: str) -> Any:
    sets = _unique(row.set for row in rows)
    figure, panels = pyplot.subplots(1, len(sets), figsize=(4.6 * len(sets) + 1.6, 3.8), squeeze=False, sharey=True)
    for panel, name in zip(panels[0], sets, strict=True):
        for method, color in zip(_unique(row.method for row in rows), _cycle(COLORS), strict=False):
            line = sorted((place(row), _error(row)) for row in rows if (row.set, row.method) == (name, method))
            panel.plot(*zip(*line, strict=True), "o-", color=color, markersize=3, linewidth=1.2, label=method)
        panel.set(title=name, xlabel=title, xscale=scale, yscale="log")
    panels[0, 0].set_ylabel(ERROR_TITLE)
    panels[0, -1].legend(frameon=False, fontsize=8, loc="center left", bbox_to_anchor=(1, 0.5))
    figure.set_layout_engine("constrained")
    return figure


def draw_surfaces(pyplot: Any, rows: Sequence[Row]) -> Any:
    """Error over the shares of points kept in source and target: a surface for each method and set."""
    methods = _unique(row.method for row in rows)
    methods = [name for name in methods if name in SURFACES] or methods
    sets = _unique(row.set for row in rows)
    size = (3.6 * len(sets), 3.4 * len(methods))
    figure, panels = pyplot.subplots(
        len(methods), len(sets), figsize=size, squeeze=False, subplot_kw={"projection": "3d"}, layout="constrained"
    )
    for line, method in zip(panels, methods, strict=True):
        for panel, name in zip(line, sets, strict=True):
            _draw_surface(panel, [row for row in rows if (row.set, row.method) == (name, method)])
            panel.set_title(f"{method}, {name}", fontsize=9)
    return figure


def _draw_surface(panel: Any, rows: Sequence[Row]) -> None:
    heights = {(row.parameters["keep_source"], row.parameters["keep_target"]): _error(row) for row in rows}
    first, second = (sorted({kept[axis] for kept in heights}) for axis in (0, 1))
    grid = np.array([[heights[q1, q2] for q2 in second] for q1 in first])
    places = np.meshgrid(first, second, indexing="ij")
    panel.plot_surface(*places, grid, cmap="viridis", edgecolor="#00000040", linewidth=0.3)
    panel.set(xlabel="$q_1$", ylabel="$q_2$", zlabel="RMSE(R)")
    panel.tick_params(labelsize=7)


def draw_ambiguity(pyplot: Any, rows: Sequence[Row]) -> Any:
    """Classes whose shapes fit half a turn away almost as well as at the truth: little d_C, and a large RMSE(R)."""
    turned = [row for row in rows if row.method == "half-turn-gicp" and "," in row.set]
    turned = sorted(turned, key=lambda row: row.figures["chamfer_ratio_median"].value)[:BROAD_CLASSES]
    names = [row.set.split(", ")[-1] for row in turned]
    figure, (left, right) = pyplot.subplots(1, 2, figsize=(9, 4), sharey=True, layout="constrained")
    left.barh(names, [row.figures["chamfer_ratio_median"].value for row in turned], color=COLORS[0])
    left.axvline(1, color="black", linewidth=0.8)
    left.set(xlabel="median d_C over d_C at the truth", xscale="log")
    right.barh(names, [_error(row) for row in turned], color=COLORS[1])
    right.set(xlabel=ERROR_TITLE)
    left.invert_yaxis()
    return figure


def _error(row: Row) -> float:
    return row.figures[ERROR].value


def _unique(names: Any) -> list[str]:
    return list(dict.fromkeys(names))


def _cycle(colors: Sequence[str]) -> list[str]:
    return list(colors) * 4


FIGURES: dict[str, Draw] = {
    "density": draw_density,
    "sigma": draw_noise,
    "noise": draw_noise,
    "bernoulli": draw_surfaces,
    "ambiguity": draw_ambiguity,
}
"""Suites whose rows make a figure."""
