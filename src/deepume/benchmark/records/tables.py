"""Rows as tables: for a terminal, for Markdown, for a page."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import Enum, StrEnum

from deepume.benchmark.records.published import published
from deepume.benchmark.records.record import TEST_SETS
from deepume.benchmark.rows.references import REFERENCES
from deepume.benchmark.rows.statistics import Row, pooled_calibration_error
from deepume.datasets import Scenario

NOTHING = "-"
"""Stands where a method does not state what the column shows."""


class Better(Enum):
    """Which end of a column is the good one; columns without one have no best."""

    LOW = 1
    HIGH = -1


class Mark(StrEnum):
    """Rank of a cell in its column."""

    BEST = "best"
    SECOND = "second"
    NONE = ""


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a table."""

    title: str
    text: Callable[[Row], str]
    figure: str | None = None
    """Name of the figure that is shown; None for the paper's."""
    better: Better | None = None
    of_all: bool = False
    """Left out if any row has no such figure, as rows of older runs: a best of the others would say nothing."""


@dataclass(frozen=True, slots=True)
class Cell:
    """Text of a table and its mark."""

    text: str
    mark: Mark = Mark.NONE


def _ours(title: str, figure: str, form: Callable[[float], str], better: Better | None = Better.LOW) -> Column:
    def text(row: Row) -> str:
        return form(row.figures[figure].value) if figure in row.figures else NOTHING

    return Column(title, text, figure, better)


def _papers(metric: str) -> Column:
    return Column("paper", lambda row: published(row, metric) or "")


def _percent(value: float) -> str:
    return f"{value:.1%}"


def _short(value: float) -> str:
    """Two decimals, but no more than six characters: without noise, the ratio of a wrong pose is beyond measure."""
    return f"{value:.2f}" if value < 1000 else f"{value:.0e}"


def _small(value: float) -> str:
    """Three decimals, or the power of ten where they would all be zero."""
    return f"{value:.3f}" if value >= 5e-4 or value == 0 else f"{value:.0e}"


def _mean_with_interval(row: Row) -> str:
    return "{:.2f} [{:.2f}, {:.2f}]".format(*row.figures["rotation_mean_deg"])


COLUMNS = (
    _ours("recall 10°", "recall_10_deg", _percent, Better.HIGH),
    _ours("recall 5°", "recall_5_deg", _percent, Better.HIGH),
    _ours("median°", "rotation_median_deg", "{:.2f}".format),
    _ours("ms", "milliseconds_median", "{:.0f}".format),
    Column("mean° [95 %]", _mean_with_interval, "rotation_mean_deg", Better.LOW),
    _ours("right", "right", _percent, Better.HIGH),
    _ours("d_C / truth", "chamfer_ratio_median", _short),
    replace(_ours("≤ 1.02", "as_close_as_truth", _percent, Better.HIGH), of_all=True),
    _ours("doubt", "doubtful", _percent, None),
    _ours("ECE", "calibration_error", "{:.3f}".format),
    _ours("RMSE(R)", "rmse_r_paper", _small),
    _papers("rmse_r_paper"),
    _ours("d_C", "chamfer_squared", _small),
    _papers("chamfer_squared"),
    _ours("d_H", "hausdorff_squared", _small),
    _papers("hausdorff_squared"),
    _ours("RMSE(t)", "rmse_t_paper", _small),
    _papers("rmse_t_paper"),
    _ours("d_C resampled", "resampling_chamfer", _small, None),
)
"""*d_C / truth* is the median of d_C over that of the true pose, *≤ 1.02* the share of pairs where it is no more than
that. *Doubt* is the share of answers that a method gives less than even odds, *ECE* the error of its confidence.
RMSE(R), d_C, d_H (of squared distances) and RMSE(t) are the paper's metrics, each with what the *paper* prints beside
it; *d_C resampled* is how far the paper's network moves the points of a cloud."""


@dataclass(frozen=True, slots=True)
class Table:
    """All methods under one condition."""

    title: str
    head: list[str]
    body: list[list[Cell]]
    """A line for each method, its name first."""


def make_tables(rows: Sequence[Row]) -> list[Table]:
    """One table for each condition, without its empty columns; then one of confidence over all."""
    return [_make_table(title, members) for title, members in blocks(rows).items()] + _pool_confidence(rows)


def _pool_confidence(rows: Sequence[Row]) -> list[Table]:
    """How far off stated probabilities are over all pairs of one object from the test sets, if these are several."""
    stating = [row for row in rows if row.gaps and row.set in TEST_SETS and row.scenario != Scenario.DIFFERENT]
    if len(blocks(stating)) < 2:
        return []
    methods, sets = (dict.fromkeys(getattr(row, word) for row in stating) for word in ("method", "set"))
    lines = [_pooled_line(name, [row for row in stating if row.method == name]) for name in methods]
    return [Table(f"{', '.join(sets)}: confidence over all pairs of one object", ["method", "pairs", "ECE"], lines)]


def _pooled_line(method: str, rows: Sequence[Row]) -> list[Cell]:
    pairs = sum(row.pairs for row in rows)
    return [Cell(method), Cell(f"{pairs:,}"), Cell(f"{pooled_calibration_error(rows):.3f}")]


def blocks(rows: Sequence[Row]) -> dict[str, list[Row]]:
    """Rows by condition, titled."""
    found: dict[str, list[Row]] = {}
    for row in rows:
        swept = "".join(f", {name} {value:g}" for name, value in row.parameters.items())
        title = f"{row.set}, {row.scenario}{swept}, {row.law}, {row.points} points, {row.pairs} pairs"
        found.setdefault(title, []).append(row)
    return found


def _make_table(title: str, rows: Sequence[Row]) -> Table:
    shown = [column for column in COLUMNS if _is_shown(column, [column.text(row) for row in rows])]
    cells = [_cells(column, rows) for column in shown]
    body = [[Cell(row.method), *line] for row, line in zip(rows, zip(*cells, strict=True), strict=True)]
    return Table(title, ["method", *(column.title for column in shown)], body)


def _is_shown(column: Column, texts: Sequence[str]) -> bool:
    said = [text not in ("", NOTHING) for text in texts]
    return all(said) if column.of_all else any(said)


def _cells(column: Column, rows: Sequence[Row]) -> list[Cell]:
    """Best and second best as printed; rows that start from the truth do not compete."""
    texts = [column.text(row) for row in rows]
    figure, better = column.figure, column.better
    if figure is None or better is None:
        return [Cell(text) for text in texts]
    values = {
        text: row.figures[figure].value
        for text, row in zip(texts, rows, strict=True)
        if figure in row.figures and row.method not in REFERENCES
    }
    ranked = sorted(values, key=lambda text: better.value * values[text])
    marks = dict(zip(ranked, (Mark.BEST, Mark.SECOND), strict=False))
    return [
        Cell(text, Mark.NONE if row.method in REFERENCES else marks.get(text, Mark.NONE))
        for text, row in zip(texts, rows, strict=True)
    ]


_MARKDOWN = {Mark.BEST: "**{}**", Mark.SECOND: "<u>{}</u>", Mark.NONE: "{}"}


def to_markdown(rows: Sequence[Row]) -> str:
    """One Markdown table for each condition, the best of each column bold, the second underlined."""
    return "\n".join(map(_markdown_table, make_tables(rows)))


def _markdown_table(table: Table) -> str:
    body = [[_MARKDOWN[cell.mark].format(cell.text) for cell in line] for line in table.body]
    lines = [table.head, ["---", *("---:" for _ in table.head[1:])], *body]
    return f"**{table.title}**\n\n" + "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"
