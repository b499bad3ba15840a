"""The record of a run: one JSON object per line, and a line on the screen for people."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from deepume.errors import MissingPackageError

Printer = Callable[[str], None]


class Log:
    """Appends events to ``log.jsonl``, prints a short line for each, and writes TensorBoard curves on request.

    The file is the record: it has every event, and a resumed run appends to it.
    """

    def __init__(self, folder: Path, printer: Printer | None = None, *, tensorboard: bool = False) -> None:
        """Open the log in ``folder``; ``printer`` replaces printing to standard error."""
        self._file = (folder / "log.jsonl").open("a")
        self._print = printer or (lambda line: print(line, file=sys.stderr, flush=True))
        self._board = _open_tensorboard(folder) if tensorboard else None

    def write(self, event: str, /, **values: Any) -> None:
        """Record an event: numbers, texts and nested dicts of them."""
        self._file.write(json.dumps({"event": event, **values}) + "\n")
        self._file.flush()
        self._print(_line(event, values))
        if self._board is not None and "step" in values:
            for name, value in _numbers(values):
                self._board.add_scalar(f"{event}/{name}", value, values["step"])

    def close(self) -> None:
        """Close the file."""
        self._file.close()
        if self._board is not None:
            self._board.close()


class SilentLog(Log):
    """The log of processes that do not lead, and of tests that do not read it."""

    def __init__(self) -> None:
        """Open nothing."""

    def write(self, event: str, /, **values: Any) -> None:
        """Drop the event."""

    def close(self) -> None:
        """Nothing was opened."""


def _line(event: str, values: dict[str, Any]) -> str:
    """The numbers of an event; the recipe is long, and in the file."""
    shown = {name: value for name, value in values.items() if name != "recipe"}
    return " ".join([f"{event:<10}", *(f"{name} {_short(value)}" for name, value in _numbers(shown))])


def _short(value: int | float) -> str:
    return str(value) if isinstance(value, int) else f"{value:.4g}"


def _numbers(values: dict[str, Any], prefix: str = "") -> list[tuple[str, int | float]]:
    """The numbers among nested values, by dotted name."""
    found: list[tuple[str, int | float]] = []
    for name, value in values.items():
        if isinstance(value, dict):
            found += _numbers(value, f"{prefix}{name}.")
        elif isinstance(value, int | float) and not isinstance(value, bool):
            found.append((f"{prefix}{name}", value))
    return found


def _open_tensorboard(folder: Path) -> Any:
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError as error:
        raise MissingPackageError("TensorBoard curves need the package: pip install tensorboard") from error
    return SummaryWriter(str(folder))
