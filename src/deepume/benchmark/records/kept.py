"""Figures measured so far, in a file beside the record, so that an interrupted run can go on."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

from deepume.benchmark.jobs import Job
from deepume.benchmark.rows.measure import PairFigures
from deepume.errors import FileFormatError

SUFFIX = ".partial"


class Kept:
    """Figures of the jobs that are done, a line each, in ``RECORD.partial``."""

    def __init__(self, record: Path, suite: str, commit: str) -> None:
        """Read what a run of the same commit left; code with changes that are not committed starts from nothing."""
        self._path = record.with_name(record.name + SUFFIX)
        self._start = f"{suite} {commit}"
        self.added = 0
        """Jobs kept by this run."""
        known = bool(commit) and not commit.endswith("-dirty")
        self._found = self._read() if known and self._path.is_file() else {}
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            # Written again without the lines of other commits, and without one that was cut off.
            self._path.write_text("".join(_line(key, figures) for key, figures in self._found.items()))
        except OSError as error:
            raise FileFormatError(f"Cannot write {self._path}: {error.strerror}. Choose another place.") from error

    def get(self, job: Job) -> list[PairFigures] | None:
        """Figures of a job that was done before."""
        return self._found.get(self._key(job))

    def put(self, job: Job, figures: list[PairFigures]) -> None:
        """Keep the figures of a job."""
        self.added += 1
        with self._path.open("a") as file:
            file.write(_line(self._key(job), figures))

    def forget(self) -> None:
        """Delete the file: all suites of the session have their records."""
        self._path.unlink(missing_ok=True)

    def _key(self, job: Job) -> str:
        return f"{self._start} {job.text}"

    def _read(self) -> dict[str, list[PairFigures]]:
        found = {}
        for line in self._path.read_text().splitlines():
            try:
                key, figures = json.loads(line)
            except json.JSONDecodeError:
                continue  # the line that the interruption cut off
            if key.startswith(f"{self._start} "):
                found[key] = [PairFigures(**each) for each in figures]
        return found


def _line(key: str, figures: list[PairFigures]) -> str:
    return json.dumps([key, [asdict(each) for each in figures]]) + "\n"
