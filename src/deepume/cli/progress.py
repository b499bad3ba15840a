"""Progress of a long command: a bar on a terminal, plain lines elsewhere, nothing if it is to be quiet."""

from __future__ import annotations

import time
from collections.abc import Callable

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn

PLAIN_SECONDS = 15.0
"""Least time between two plain lines."""


class Meter:
    """Time left, throughput and current figures of ``total`` units of work, on standard error."""

    def __init__(
        self,
        unit: str,
        total: int | float,
        *,
        quiet: bool = False,
        console: Console | None = None,
        clock: Callable[[], float] = time.monotonic,
    ):
        self._unit, self._total, self._quiet, self._clock = unit, total, quiet, clock
        self._console = console or Console(stderr=True)
        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            TaskProgressColumn(),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
            TextColumn("{task.fields[figures]}"),
            console=self._console,
            disable=quiet or not self._console.is_terminal,
        )
        self._task = self._bar.add_task("", total=total, figures="")
        self._start = self._spoken = clock()
        self._first: int | float | None = None
        self._count = 0

    def __enter__(self) -> Meter:
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()

    def update(self, done: int | float, label: str, figures: str) -> None:
        """One more unit of work is done; ``done`` units of the total, those of an interrupted run included."""
        now = self._clock()
        self._count += 1
        self._first = done if self._first is None else self._first
        seconds = max(now - self._start, 1e-9)
        rate = f"{self._count / seconds:.1f} {self._unit}/s"
        self._bar.update(self._task, completed=done, description=label, figures=f"{rate}  {figures}")
        if now - self._spoken >= PLAIN_SECONDS and not self._console.is_terminal:
            self._spoken = now
            self.say(f"{label}: {done / self._total:.0%}, {self._left(done, seconds)}, {rate}, {figures}")

    def say(self, line: str) -> None:
        """Print a line, above the bar where there is one."""
        if not self._quiet:
            self.warn(line)

    def warn(self, line: str) -> None:
        """Print a line even if quiet: without it, the result would be misunderstood."""
        self._console.print(line, highlight=False, markup=False, soft_wrap=True)

    def _left(self, done: int | float, seconds: float) -> str:
        gained = done - (self._first or 0.0)
        return f"about {(self._total - done) * seconds / gained:.0f} s left" if gained > 0 else "time left unknown"
