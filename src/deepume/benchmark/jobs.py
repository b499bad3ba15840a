"""A run cut into jobs, done here or by worker processes: the numbers are the same."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from multiprocessing import get_context
from pathlib import Path

import torch

from deepume.benchmark.rows.measure import PairFigures, measure_pair
from deepume.benchmark.rows.variants import is_network
from deepume.benchmark.suites.suite import Condition, Suite
from deepume.benchmark.suites.sweeps import draw_of
from deepume.datasets import Dataset, Pair, PairKey, make_pair, open_set
from deepume.errors import CloudShapeError, MissingPackageError
from deepume.networks.weights_files import WeightsError

JOB_PAIRS = 5
"""Pairs of a job: few, so that the progress bar moves often; enough to be worth sending to a worker."""
THREADS = 1
"""Threads of torch in every worker: sums over several threads are rounded differently from run to run."""


@dataclass(frozen=True, slots=True)
class Job:
    """One method on a few pairs of one block."""

    method: str
    condition: Condition
    keys: tuple[PairKey, ...]
    folder: Path | None
    device: str
    """Where networks compute; all else is done on CPU."""

    @property
    def text(self) -> str:
        """Everything the result depends on except the code, as one line."""
        pairs = ",".join(f"{key.index}/{key.seed}" for key in self.keys)
        return (
            f"{self.method} {self.keys[0].text} {dict(self.condition.parameters)} {pairs} {self.folder} {self.device}"
        )


Outcome = list[PairFigures] | MissingPackageError | WeightsError | CloudShapeError
"""Figures of the pairs of a job, or why the method cannot do it on this machine or with such clouds."""


def make_jobs(suite: Suite, folder: Path | None, device: str) -> list[Job]:
    """All jobs of a suite. Methods take turns on the same few pairs, which are made once."""
    return [
        Job(method, condition, keys, folder, device if is_network(method) else "cpu")
        for condition in suite.conditions()
        for keys in _chunks(suite, condition, _open(condition.set, folder))
        for method in suite.methods_of(condition)
    ]


def _chunks(suite: Suite, condition: Condition, dataset: Dataset) -> list[tuple[PairKey, ...]]:
    keys = condition.keys(dataset, suite.pairs_of(condition.set), suite.seed, suite.stride)
    return [tuple(keys[start : start + JOB_PAIRS]) for start in range(0, len(keys), JOB_PAIRS)]


def do_jobs(jobs: Sequence[Job], workers: int) -> Iterator[Outcome]:
    """Outcomes in the order of the jobs."""
    if workers == 1:
        with _few_threads():
            yield from map(do_job, jobs)
    else:
        # A copy of a process that has used torch may hang in its locks: workers are new processes.
        with ProcessPoolExecutor(workers, get_context("spawn"), torch.set_num_threads, (THREADS,)) as pool:
            yield from pool.map(do_job, jobs)


def do_job(job: Job) -> Outcome:
    """Measure. The outcome says if a method cannot run here; any other failure is an error."""
    try:
        return [measure_pair(job.method, _pair(job, key)) for key in job.keys]
    except (MissingPackageError, WeightsError, CloudShapeError) as error:
        return error.with_traceback(None)
    except ModuleNotFoundError as error:  # a machine that has torch and little else
        return MissingPackageError(f"{error.name} is not installed: pip install {error.name}")


@contextmanager
def _few_threads() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(THREADS)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _pair(job: Job, key: PairKey) -> Pair:
    return _make(job.condition, key, job.folder).to(job.device)


@lru_cache(maxsize=2 * JOB_PAIRS)
def _make(condition: Condition, key: PairKey, folder: Path | None) -> Pair:
    return make_pair(_open(condition.set, folder), key, draw=draw_of(condition))


@lru_cache(maxsize=4)
def _open(name: str, folder: Path | None) -> Dataset:
    return open_set(name, folder)
