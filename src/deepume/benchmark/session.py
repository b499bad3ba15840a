"""Suites run one after the other, each with its record; for the command line, and for Python without it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from deepume.benchmark.records.kept import Kept
from deepume.benchmark.records.pair_pictures import draw_picture
from deepume.benchmark.records.record import LEDGER, make_record, read_record, write_record
from deepume.benchmark.records.update import update_record
from deepume.benchmark.rows.statistics import Row
from deepume.benchmark.runner import Progress, Skip, run_suite
from deepume.benchmark.suites.our_suites import ALL, get_suite
from deepume.benchmark.suites.suite import Suite
from deepume.errors import DeepumeError, MissingPackageError
from deepume.io.checkout import find_commit


@dataclass(frozen=True, slots=True)
class Session:
    """How suites are run, and where their records go."""

    command: str
    """The command that started it, for the records."""
    data: Path | None = None
    """Folder of the real data sets."""
    record: Path | None = None
    """File of the record, or a folder for a record of each suite; None: nothing is kept."""
    device: str = "cpu"
    workers: int = 1

    commit: str = field(default_factory=find_commit)
    """The code that measures."""
    update: bool = False
    """Leave the rows of other methods in a record that is there already."""
    _unfinished: list[Kept] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Refuse an update without a record to update."""
        if self.update and self.record is None:
            raise DeepumeError("--update brings a record up to date: name it with --record.")

    def run(
        self, suite: Suite, progress: Progress = lambda name, figures: None, skip: Skip = lambda name, reason: None
    ) -> list[Row]:
        """Rows of a suite; the record is written once it is complete, and an interrupted run goes on."""
        path = self._record_of(suite)
        kept = None if path is None else Kept(path, suite.name, self.commit)
        rows = run_suite(suite, self.data, progress, skip, self.device, workers=self.workers, kept=kept)
        if path is not None and kept is not None:
            self._unfinished.append(kept)
            if kept.added or not self._wrote(path):
                self._write(suite, rows, path)
                self._draw_picture(suite, path, skip)
        return rows

    def finish(self) -> None:
        """Every suite has its record: delete what was kept for an interrupted run."""
        for kept in self._unfinished:
            kept.forget()

    def _wrote(self, path: Path) -> bool:
        """Whether the session that was interrupted had already written this record."""
        return path.is_file() and read_record(path).commit == self.commit

    def _write(self, suite: Suite, rows: list[Row], path: Path) -> None:
        ledger = path.parent / LEDGER
        record = make_record(suite, rows, self.command, ledger, device=self.device, workers=self.workers)
        record = replace(record, commit=self.commit or record.commit)
        write_record(update_record(read_record(path), record) if self.update and path.is_file() else record, path)

    def _draw_picture(self, suite: Suite, record: Path, skip: Skip) -> None:
        try:
            draw_picture(suite, self.data, record)
        except MissingPackageError as error:  # the record is there; GPU machines often cannot draw
            skip(f"the picture of {suite.name}", str(error))

    def _record_of(self, suite: Suite) -> Path | None:
        if self.record is None or self.record.suffix == ".json":
            return self.record
        return self.record / f"{suite.name}.json"


def find_suites(words: Sequence[str], *, has_data: bool) -> list[Suite]:
    """The named suites, each once; ``all`` stands for everything the paper reports."""
    names = dict.fromkeys(name for word in words for name in (ALL if word == "all" else (word,)))
    return [get_suite(name, has_data=has_data) for name in names]
