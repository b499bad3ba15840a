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
from rich.text import Text

from deepume.benchmark.records.page import write_report
from deepume.benchmark.records.tables import Mark, make_tables, to_markdown
from deepume.benchmark.rows.measure import PairFigures
from deepume.benchmark.rows.statistics import Row
from deepume.benchmark.session import Session, find_suites
from deepume.benchmark.suites.suite import Suite
from deepume.cli.command import command_line
from deepume.cli.exits import Exit
from deepume.cli.progress import Meter
from deepume.errors import DeepumeError
from deepume.io.checkout import find_commit

PIPE_WIDTH = 145
"""Columns of a table that is not printed to a terminal."""
REPORT = "report"
"""The word for the page of all records."""
RESULTS = Path("results")
STYLES = {Mark.BEST: "bold", Mark.SECOND: "underline", Mark.NONE: ""}


@dataclass(frozen=True)
class Benchmark:
    """Measure methods on identical pairs and print one table for each condition.

    `quick` needs no data. `core`, `default` (the default method, its parts and its peers, in all scenarios and sizes),
    `network` (the networks without refinement) and `methods` (every method that is compared) measure on the Stanford
    and FAUST scans in the folder named by --data. The paper's tables are `T1`, `T2`, `T3`, `T4`, its figures `density`,
    `sigma`, `bernoulli`, `extremes`, `ambiguity`, `noise`, `teaser`, `resample` and `cost`; `all` is all of these.
    `report` puts all records in the folder of --record, or in results/, on one page. Without --data, procedural shapes
    replace the scans, and the table says so. A method whose weights or package is missing is skipped, with a line that
    says what to do. A run with --record that was interrupted goes on where it stopped.

    Example: deepume benchmark T1 T2 T3 T4 --data DATA --workers 2 --record results
    """

    suites: tyro.conf.Positional[tuple[str, ...]] = ("quick",)
    """What to measure, one name or several."""
    data: Path | None = None
    """Folder of the real data sets."""
    methods: tuple[str, ...] = ()
    """Only these methods; default: all of the suite."""
    sets: tuple[str, ...] = ()
    """Other data sets than the suite's."""
    scenarios: tuple[str, ...] = ()
    """Only the blocks of these scenarios."""
    points: tuple[int, ...] = ()
    """Other numbers of points than the suite's."""
    pairs: int | None = None
    """Another number of pairs in each block."""
    every: int = 1
    """Only every so many-th pair, spread over all shapes: 4 takes a quarter of the time, for wider intervals."""
    record: Path | None = None
    """Write the record (JSON) here; for several suites a folder, where each writes NAME.json."""
    update: bool = False
    """Where the record is there already, replace the rows that are measured now and leave all others."""
    workers: int = 1
    """Processes that share the work; the figures do not depend on it, but times do if the cores are too few."""
    markdown: bool = False
    """Print Markdown tables."""
    device: str = "cpu"
    """Where the clouds live: cuda for networks on a GPU."""
    commit: str | None = None
    """Commit to write into the record, where there is no checkout."""
    quiet: Annotated[bool, tyro.conf.arg(aliases=["-q"])] = False
    """Print the tables, and what was skipped, without progress."""

    def run(self) -> Exit:
        """Run the suites, print their tables, keep their records; then the page, if requested."""
        suites = find_suites([name for name in self.suites if name != REPORT], has_data=self.data is not None)
        if len(suites) > 1 and self.record is not None and self.record.suffix == ".json":
            raise DeepumeError(f"Several suites do not fit into one record: name a folder instead of {self.record}.")
        commit = self.commit or find_commit()
        session = Session(command_line(), self.data, self.record, self.device, self.workers, commit, self.update)
        for suite in suites:
            chosen = suite.narrowed(methods=self.methods, sets=self.sets, points=self.points, pairs=self.pairs)
            rows = self._measure(session, chosen.within(self.scenarios).thinned(self.every))
            print(to_markdown(rows)) if self.markdown else _print_tables(rows)
        session.finish()
        if REPORT in self.suites:
            folder = self.record or RESULTS
            print(f"Open {write_report(folder.parent if folder.suffix else folder)}")
        return Exit.SURE

    def _measure(self, session: Session, suite: Suite) -> list[Row]:
        """Run the suite; the bar tells the method, and the median error of its pairs so far."""
        total, errors = _count_pairs(suite), defaultdict[str, list[float]](list)
        with Meter("pairs", total, quiet=self.quiet) as meter:

            def hear(name: str, figures: PairFigures) -> None:
                errors[name].append(figures.rotation_deg)
                done = sum(map(len, errors.values()))
                meter.update(done, name, f"median {median(errors[name]):.2f} deg, {1e3 * figures.seconds:.0f} ms")

            def miss(name: str, reason: str) -> None:
                meter.warn(f"skipped {name}: {reason}")

            return session.run(suite, hear, miss)


def _count_pairs(suite: Suite) -> int:
    return sum(len(suite.methods_of(each)) * suite.pairs_of(each.set) for each in suite.conditions())


def _print_tables(rows: list[Row]) -> None:
    """One table for each condition, the best of each column bold; a narrow terminal gets the leading columns only."""
    console = Console()
    if not console.is_terminal:
        console.width = PIPE_WIDTH
    for table in make_tables(rows):
        widths = [max(len(cell.text) for cell in cells) for cells in zip(*table.body, strict=True)]
        wide = accumulate(max(width, len(title)) + 3 for width, title in zip(widths, table.head, strict=True))
        shown = sum(used <= console.width for used in wide)
        grid = Table(title=table.title, title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
        for k, name in enumerate(table.head[:shown]):
            grid.add_column(name, justify="right" if k else "left", no_wrap=True)
        for line in table.body:
            grid.add_row(*(Text(cell.text, STYLES[cell.mark]) for cell in line[:shown]))
        console.print(grid)
