"""Rows of the default method under other settings than the usual ones."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from deepume.api import register
from deepume.auto import Auto
from deepume.datasets import Pair
from deepume.method import Effort
from deepume.result import Registration


def register_with_effort(pair: Pair, effort: Effort) -> Registration:
    """The default method, told how far to search."""
    return register(pair.source, pair.target, effort=effort)


def register_unlearned(pair: Pair) -> Registration:
    """The default method without its network."""
    return Auto(learned=False)(pair.source, pair.target)


VARIANTS: dict[str, Callable[[Pair], Registration]] = {
    "auto-fast": partial(register_with_effort, effort=Effort.FAST),
    "auto-thorough": partial(register_with_effort, effort=Effort.THOROUGH),
    "auto-unlearned": register_unlearned,
}
