"""Packages that are loaded only when a file needs them, and print nothing while it is read."""

from __future__ import annotations

import importlib
import logging
import threading
import warnings
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from deepume.errors import MissingPackageError

READING_PACKAGES = ("trimesh", "laspy", "pye57")


def import_package(module: str, requirement: str) -> Any:
    """The module, or :class:`MissingPackageError` whose message is the exact install line."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise MissingPackageError(f'pip install "{requirement}"') from error


class _Quiet:
    """Suppresses warnings and log lines while at least one reader is at work.

    Warning filters belong to the process: threads that overlap share one change, and the last one undoes it.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._readers = 0
        self._changes = ExitStack()

    def __enter__(self) -> None:
        with self._lock:
            self._readers += 1
            if self._readers == 1:
                self._changes.enter_context(warnings.catch_warnings())
                warnings.simplefilter("ignore")
                for name in READING_PACKAGES:
                    self._changes.enter_context(_muted(logging.getLogger(name)))

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._readers -= 1
            if self._readers == 0:
                self._changes.close()


@contextmanager
def _muted(logger: logging.Logger) -> Iterator[None]:
    handler, propagate = logging.NullHandler(), logger.propagate
    logger.addHandler(handler)
    logger.propagate = False
    try:
        yield
    finally:
        logger.propagate = propagate
        logger.removeHandler(handler)


quiet = _Quiet()
"""``with quiet:`` lets a library read a file without warnings and log lines."""
