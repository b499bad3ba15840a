"""What a method is, and what it promises."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol, runtime_checkable

from deepume.result import Registration
from deepume.transform import Source, Target


@runtime_checkable
class Method(Protocol):
    """Anything that maps a source and a target to a registration, batched over leading axes."""

    def __call__(self, source: Source, target: Target) -> Registration:
        """Register ``(*batch, N, 3)`` to ``(*batch, M, 3)``."""
        ...


class Claim(StrEnum):
    """A law that a method promises to obey; :mod:`deepume.methods.claims` checks it."""

    PROPER = "proper"
    """The answer is a proper rotation, whatever the clouds."""
    ROTATION = "rotation"
    """Rotating either cloud rotates the answer."""
    TRANSLATION = "translation"
    """Translating either cloud translates the answer."""
    SWAP = "swap"
    """Swapping the clouds inverts the answer."""
    PERMUTATION = "permutation"
    """The order of the points does not matter."""
    BATCH = "batch"
    """A batch gives what its members give."""
    EXACT = "exact"
    """Clouds that coincide point by point after a motion give that motion."""
    DETERMINISTIC = "deterministic"
    """The same clouds give the same bits."""


@dataclass(frozen=True, slots=True)
class MethodEntry:
    """A row in the table of methods."""

    name: str
    """The name that users write."""
    summary: str
    """One line on what it does."""
    make: Callable[..., Method]
    """Builds the method with its default parameters; an anytime method takes effort, time limit and initial pose."""
    claims: frozenset[Claim]
    """Laws that it promises."""
    refined: bool = False
    """True if the answer is already as accurate as refinement makes it."""
    anytime: bool = False
    """True if it can be told how far to search."""
    centered: bool = True
    """False if the method must see where the clouds lie relative to each other."""
    weights: str | None = None
    """Name of the weights file that it needs; None where nothing is learned."""
    package: str | None = None
    """Optional package that it needs, by the name that is imported; None where there is none."""
