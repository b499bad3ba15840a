"""Rows as tables, for a terminal and for Markdown."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from deepume.benchmark.published import published_rmse_r
from deepume.benchmark.statistics import Row

Cell = Callable[[Row], str]

COLUMNS: dict[str, Cell] = {
    "recall 10°": lambda row: f"{row.figures['recall_10_deg'].value:.1%}",
    "recall 5°": lambda row: f"{row.figures['recall_5_deg'].value:.1%}",
    "median°": lambda row: f"{row.figures['rotation_median_deg'].value:.2f}",
    "ms": lambda row: f"{row.figures['milliseconds_median'].value:.0f}",
    "mean° [95 %]": lambda row: "{:.2f} [{:.2f}, {:.2f}]".format(*row.figures["rotation_mean_deg"]),
    "right": lambda row: f"{row.figures['right'].value:.1%}",
    "d_C / truth": lambda row: _short(row.figures["chamfer_ratio_median"].value),
    "doubt": lambda row: f"{row.figures['doubtful'].value:.1%}" if "doubtful" in row.figures else "-",
    "ECE": lambda row: f"{row.figures['calibration_error'].value:.3f}" if "calibration_error" in row.figures else "-",
    "RMSE(R)": lambda row: f"{row.figures['rmse_r_paper'].value:.2f}",
    "RMSE(t)": lambda row: f"{row.figures['rmse_t_paper'].value:.3f}",
    "published": lambda row: _published(row),
}
"""Columns of every table. *Doubt* is the share of answers that a method gives less than even odds, *ECE* the error of
its confidence; RMSE(R) and RMSE(t) are the paper's metrics, and *published* is its own RMSE(R)."""


def _short(value: float) -> str:
    """Two decimals, but no more than six characters: without noise, the ratio of a wrong pose is beyond measure."""
    return f"{value:.2f}" if value < 1000 else f"{value:.0e}"


def _published(row: Row) -> str:
    figure = published_rmse_r(row)
    return "" if figure is None else f"{figure:.2f}"


def blocks(rows: Sequence[Row]) -> dict[str, list[Row]]:
    """Rows by condition, titled."""
    found: dict[str, list[Row]] = {}
    for row in rows:
        title = f"{row.set}, {row.scenario}, {row.law}, {row.points} points, {row.pairs} pairs"
        found.setdefault(title, []).append(row)
    return found


def table_rows(rows: Sequence[Row]) -> list[list[str]]:
    """Method name and cells of each row."""
    return [[row.method, *(cell(row) for cell in COLUMNS.values())] for row in rows]


def to_markdown(rows: Sequence[Row]) -> str:
    """One Markdown table for each condition."""
    return "\n".join(_markdown_block(title, members) for title, members in blocks(rows).items())


def _markdown_block(title: str, rows: Sequence[Row]) -> str:
    head = ["method", *COLUMNS]
    lines = [head, ["---", *("---:" for _ in COLUMNS)], *table_rows(rows)]
    return f"**{title}**\n\n" + "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"
