"""Run a suite: every method sees the same pairs, whatever the order and the number of workers."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path

from deepume.api import list_methods
from deepume.benchmark.jobs import Job, Outcome, do_jobs, make_jobs
from deepume.benchmark.records.kept import Kept
from deepume.benchmark.rows.measure import PairFigures
from deepume.benchmark.rows.references import REFERENCES
from deepume.benchmark.rows.statistics import Row, summarize
from deepume.benchmark.rows.variants import VARIANTS
from deepume.benchmark.suites.suite import Condition, Suite
from deepume.errors import DeepumeError, require_known

Progress = Callable[[str, PairFigures], None]
"""Called after each pair with the name of the method and its figures."""
Skip = Callable[[str, str], None]
"""Called once for a method that cannot run here or with such clouds, with its name and what to do about it."""


def run_suite(
    suite: Suite,
    folder: Path | None,
    progress: Progress = lambda name, figures: None,
    skip: Skip = lambda name, reason: None,
    device: str = "cpu",
    *,
    workers: int = 1,
    kept: Kept | None = None,
) -> list[Row]:
    """One row for each method and condition, in the order of the suite; what a method cannot do is left out.

    ``workers`` processes share the work, each with one thread; ``kept`` holds what an interrupted run has done.
    """
    for name in suite.methods:
        require_known("method", name, [*list_methods(), *VARIANTS, *REFERENCES])
    if workers < 1:
        raise DeepumeError(f"At least one worker must do the work, got {workers}.")
    measured = defaultdict[tuple[Condition, str], list[PairFigures]](list)
    unable: set[tuple[Condition, str]] = set()
    for job, outcome in _outcomes(make_jobs(suite, folder, device), workers, kept):
        if isinstance(outcome, list):
            measured[job.condition, job.method] += outcome
            for figures in outcome:
                progress(job.method, figures)
        else:
            if job.method not in (name for _, name in unable):
                skip(job.method, str(outcome))
            unable.add((job.condition, job.method))
    return [
        row
        for condition in suite.conditions()
        for name in suite.methods_of(condition)
        if (condition, name) not in unable
        for row in summarize(name, condition, measured[condition, name], by_class=condition.set in suite.by_class)
    ]


def _outcomes(jobs: list[Job], workers: int, kept: Kept | None) -> Iterator[tuple[Job, Outcome]]:
    """Every job with its outcome, in order; a job whose figures are kept is not done again."""
    before = {job: figures for job in jobs if kept is not None and (figures := kept.get(job)) is not None}
    fresh = do_jobs([job for job in jobs if job not in before], workers)
    for job in jobs:
        if job in before:
            yield job, before[job]
            continue
        outcome = next(fresh)
        if kept is not None and isinstance(outcome, list):
            kept.put(job, outcome)
        yield job, outcome
