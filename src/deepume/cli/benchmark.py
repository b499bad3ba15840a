"""``deepume benchmark``."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from statistics import median
from typing import Annotated

import tyro
from rich import box
from rich.console import Console
from rich.table import Table

from deepume.benchmark import Suite, get_suite, run_suite, table_rows, to_markdown, write_record
from deepume.benchmark.record import LEDGER, make_record
from deepume.benchmark.runner import PairFigures
from deepume.benchmark.statistics import Row
from deepume.benchmark.tables import COLUMNS, blocks
from deepume.cli.command import command_line
from deepume.cli.exits import Exit
from deepume.cli.progress import Meter

PIPE_WIDTH = 145
"""Columns of a table that is not printed to a terminal."""


@dataclass(frozen=True)
class Benchmark:
    """Measure methods on identical pairs and print one table for each condition.

    `quick` needs no data. `core`, `default` (the default method, its parts and its peers, in all scenarios and sizes),
    `network` (the networks alone) and `methods` (every method that is compared) measure on the Stanford and FAUST scans
    in the folder named by --data; without it, on procedural shapes, and the table says so. A method whose weights or
    whose package are not there is skipped, with a line that says what to do.

    Example: deepume benchmark core --data DATA --record results/core.json
    """

    suite: tyro.conf.Positional[str] = "quick"
    """What to measure: quick, core, default, network or methods."""
    data: Path | None = None
    """Folder of the real data sets."""
    methods: tuple[str, ...] = ()
    """Only these methods; default: all of the suite."""
    sets: tuple[str, ...] = ()
    """Other data sets than the suite's."""
    points: tuple[int, ...] = ()
    """Other numbers of points than the suite's."""
    pairs: int | None = None
    """Another number of pairs in each block."""
    record: Path | None = None
    """Write the record (JSON) here."""
    markdown: bool = False
    """Print Markdown tables."""
    device: str = "cpu"
    """Where the clouds live: cuda for networks on a GPU."""
    quiet: Annotated[bool, tyro.conf.arg(aliases=["-q"])] = False
    """Print the tables alone, no progress."""

    def run(self) -> Exit:
        """Run the suite, print its tables, keep its record."""
        suite = self._suite()
        rows = self._measure(suite)
        print(to_markdown(rows)) if self.markdown else _print_tables(rows)
        if self.record is not None:
            ledger = self.record.parent / LEDGER
            write_record(make_record(suite, rows, command_line(), ledger, device=self.device), self.record)
        return Exit.SURE

    def _measure(self, suite: Suite) -> list[Row]:
        """Run the suite; the bar tells the method, and the median error of its pairs so far."""
        total, errors = _count_pairs(suite), defaultdict[str, list[float]](list)
        with Meter("pairs", total, quiet=self.quiet) as meter:

            def hear(name: str, figures: PairFigures) -> None:
                errors[name].append(figures.rotation_deg)
                done = sum(map(len, errors.values()))
                meter.update(done, name, f"median {median(errors[name]):.2f} deg, {1e3 * figures.seconds:.0f} ms")

            def miss(name: str, reason: str) -> None:
                meter.say(f"skipped {name}: {reason}")

            return run_suite(suite, self.data, hear, miss, self.device)

    def _suite(self) -> Suite:
        suite = get_suite(self.suite, has_data=self.data is not None)
        return suite.narrowed(methods=self.methods, sets=self.sets, points=self.points, pairs=self.pairs)


def _count_pairs(suite: Suite) -> int:
    return len(suite.methods) * sum(suite.pairs_of(condition.set) for condition in suite.conditions())


def _print_tables(rows: list[Row]) -> None:
    """One table for each condition; a narrow terminal gets the leading columns only."""
    console = Console()
    if not console.is_terminal:
        console.width = PIPE_WIDTH
    for title, members in blocks(rows).items():
        lines = [["method", *COLUMNS], *table_rows(members)]
        widths = [max(map(len, cells)) for cells in zip(*lines, strict=True)]
        shown = sum(used <= console.width for used in accumulate(width + 3 for width in widths))
        table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
        for k, name in enumerate(lines[0][:shown]):
            table.add_column(name, justify="right" if k else "left", no_wrap=True)
        for cells in lines[1:]:
            table.add_row(*cells[:shown])
        console.print(table)
