"""Suites run one after the other, each with its record, from whichever command line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from deepume.benchmark.kept import Kept
from deepume.benchmark.pictures import draw_picture
from deepume.benchmark.record import LEDGER, make_record, write_record
from deepume.benchmark.runner import Progress, Skip, run_suite
from deepume.benchmark.statistics import Row
from deepume.benchmark.suite import Suite
from deepume.benchmark.suites import ALL, get_suite
from deepume.errors import MissingPackageError
from deepume.provenance import find_commit


@dataclass(frozen=True, slots=True)
class Session:
    """How suites are run, and where their records go."""

    command: str
    """The words that started it, for the records."""
    data: Path | None = None
    """Folder of the real data sets."""
    record: Path | None = None
    """File of the record, or a folder for a record of each suite; None: nothing is kept."""
    device: str = "cpu"
    workers: int = 1

    def run(
        self, suite: Suite, progress: Progress = lambda name, figures: None, skip: Skip = lambda name, reason: None
    ) -> list[Row]:
        """Rows of a suite; the record is written once it is complete, and an interrupted run is taken up again."""
        path = self._record_of(suite)
        kept = None if path is None else Kept(path, suite.name, find_commit())
        rows = run_suite(suite, self.data, progress, skip, self.device, workers=self.workers, kept=kept)
        if path is not None and kept is not None:
            ledger = path.parent / LEDGER
            write_record(make_record(suite, rows, self.command, ledger, device=self.device, workers=self.workers), path)
            kept.forget()
            self._draw_picture(suite, path, skip)
        return rows

    def _draw_picture(self, suite: Suite, record: Path, skip: Skip) -> None:
        try:
            draw_picture(suite, self.data, record)
        except MissingPackageError as error:  # the record is what matters, and machines with a GPU draw nothing
            skip(f"the picture of {suite.name}", str(error))

    def _record_of(self, suite: Suite) -> Path | None:
        if self.record is None or self.record.suffix == ".json":
            return self.record
        return self.record / f"{suite.name}.json"


def find_suites(words: Sequence[str], *, has_data: bool) -> list[Suite]:
    """The suites of the words, each once; ``all`` stands for everything the paper reports."""
    names = dict.fromkeys(name for word in words for name in (ALL if word == "all" else (word,)))
    return [get_suite(name, has_data=has_data) for name in names]
