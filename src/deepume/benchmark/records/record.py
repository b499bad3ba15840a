"""Records: a published number with everything needed to measure it again."""

from __future__ import annotations

import datetime
import json
import os
import platform
import re
from dataclasses import asdict, dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import torch

from deepume.benchmark.jobs import THREADS
from deepume.benchmark.rows.statistics import Figure, Row
from deepume.benchmark.suites.suite import Suite
from deepume.errors import FileFormatError
from deepume.io.checkout import find_commit

TEST_SETS = ("stanford", "faust", "faust-meters", "modelnet40-test")
"""Sets that nothing may be decided on; every run on them is counted."""
LEDGER = "test-runs.txt"
"""Beside the records: a line for each recorded run on a test set."""


@dataclass(frozen=True, slots=True)
class Earlier:
    """A run from which a later record of the suite still has rows."""

    methods: list[str]
    """Methods whose rows are its, with their scenarios in brackets where other runs measured the rest."""
    command: str
    commit: str
    date: str
    hardware: dict[str, str | int]


@dataclass(frozen=True, slots=True)
class Record:
    """One run of a suite."""

    suite: str
    command: str
    commit: str
    date: str
    seed: int
    versions: dict[str, str]
    hardware: dict[str, str | int]
    test_runs_before: int
    """Recorded runs on test sets that came before this one."""
    rows: list[Row]
    earlier: list[Earlier] = field(default_factory=list)
    """Where rows come from that this run did not measure."""


def make_record(
    suite: Suite, rows: list[Row], command: str, ledger: Path, *, device: str = "cpu", workers: int = 1
) -> Record:
    """Describe a run that has just ended."""
    return Record(
        suite=suite.name,
        command=command,
        commit=find_commit() or "unknown",
        date=datetime.datetime.now(datetime.UTC).date().isoformat(),
        seed=suite.seed,
        versions={name: _version(name) for name in ("deepume", "torch", "numpy", "scipy", "small_gicp")},
        hardware={
            "machine": platform.machine(),
            "processor": _processor(),
            "cores": os.cpu_count() or 1,
            "threads": THREADS,
            "workers": workers,
            "device": torch.cuda.get_device_name(device) if device.startswith("cuda") else device,
        },
        test_runs_before=len(ledger.read_text().splitlines()) if ledger.is_file() else 0,
        rows=rows,
    )


def write_record(record: Record, path: Path) -> None:
    """Write a record, and enter it in the ledger beside it if it used a test set."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(_as_json(record))
    except OSError as error:
        raise FileFormatError(f"Cannot write {path}: {error.strerror}. Choose another place.") from error
    used = sorted({row.set for row in record.rows} & set(TEST_SETS))
    if used:
        with (path.parent / LEDGER).open("a") as ledger:
            ledger.write(f"{record.date} {record.suite} {' '.join(used)} {record.commit}\n")


def _as_json(record: Record) -> str:
    """The record as text, each figure with its interval on one line, and so every list of numbers."""
    plain = asdict(record)
    plain["rows"] = [{name: value for name, value in row.items() if name != "gaps" or value} for row in plain["rows"]]
    text = json.dumps(plain, indent=1) + "\n"
    return re.sub(r"\[([^][{}\"]+)\]", lambda found: f"[{' '.join(found[1].split())}]", text)


def read_record(path: Path) -> Record:
    """Read what :func:`write_record` wrote."""
    plain = json.loads(path.read_text())
    rows = [Row(**{**row, "figures": {k: Figure(*v) for k, v in row["figures"].items()}}) for row in plain["rows"]]
    earlier = [Earlier(**run) for run in plain.get("earlier", [])]
    return Record(**{**plain, "rows": rows, "earlier": earlier})


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed"


def _processor() -> str:
    """Model name of the processor, where the system tells it."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or "unknown"
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else "unknown"
