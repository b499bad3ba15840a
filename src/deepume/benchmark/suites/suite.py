"""What is measured together: a suite is methods x sets x scenarios x laws x sizes, on identical pairs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product

from deepume.datasets import Dataset, Law, PairKey, Scenario
from deepume.errors import DeepumeError, require_known


@dataclass(frozen=True, slots=True)
class Condition:
    """One block of a table: everything about its pairs but the index."""

    set: str
    scenario: Scenario
    law: Law
    points: int
    parameters: tuple[tuple[str, float], ...] = ()
    """What a sweep sets in the scenario, by name; see :func:`deepume.benchmark.suites.sweeps.draw_of`."""

    def keys(self, dataset: Dataset, pairs: int, seed: int, stride: int = 1) -> list[PairKey]:
        """Keys of the first pairs: every ``stride``-th shape, round and round, each round with its own seed."""
        size = len(dataset)
        return [
            PairKey(self.set, self.scenario, self.law, self.points, index % size, seed + index // size)
            for index in range(0, pairs * stride, stride)
        ]


@dataclass(frozen=True, slots=True)
class Suite:
    """A named benchmark."""

    name: str
    """Its name on the command line."""
    title: str
    """What it shows."""
    methods: tuple[str, ...]
    """Rows of each block; see also :data:`deepume.benchmark.rows.references.REFERENCES`."""
    sets: tuple[str, ...]
    """Data sets, by the names of :func:`deepume.datasets.open_set`."""
    scenarios: tuple[Scenario, ...] = (Scenario.ZERO,)
    """How pairs are made."""
    laws: tuple[Law, ...] = (Law.HAAR,)
    """How motions are drawn."""
    points: tuple[int, ...] = (1024,)
    """Points per cloud."""
    pairs: int = 200
    """Pairs in each block, at most."""
    fewer: tuple[tuple[str, int], ...] = ()
    """Sets with fewer pairs than that, and how many."""
    stride: int = 1
    """Step from one shape to the next: a few pairs of a large set should not all be of its first object."""
    seed: int = 0
    """Seed of the first drawing of each shape."""
    further: tuple[Condition, ...] = ()
    """Blocks beside the product of sets, scenarios, laws and points."""
    sweep_only: bool = False
    """True if there are no blocks but the further ones."""
    limits: tuple[tuple[str, int], ...] = ()
    """Methods that are not measured on large clouds, and the most points they are given."""
    by_class: tuple[str, ...] = ()
    """Sets whose large classes have rows of their own, too."""

    def __post_init__(self) -> None:
        """Refuse a suite with nothing in it."""
        if self.pairs < 1 or not self.methods or not any(True for _ in self.conditions()):
            raise DeepumeError(f"Suite {self.name!r} is empty: it needs methods, sets, scenarios, laws, points, pairs.")

    def narrowed(
        self,
        *,
        methods: tuple[str, ...] = (),
        sets: tuple[str, ...] = (),
        points: tuple[int, ...] = (),
        pairs: int | None = None,
    ) -> Suite:
        """The suite with other methods, sets, numbers of points or of pairs, where they are given.

        Sets and points are replaced in the product and in sweeps. New sets drop the further blocks that are no sweep.
        """
        suite = replace(self, further=self._further_with(sets, points))
        given = {"methods": methods, "sets": sets, "points": points, "pairs": pairs}
        return replace(suite, **{name: value for name, value in given.items() if value not in (None, ())})

    def within(self, scenarios: Sequence[str]) -> Suite:
        """Only the blocks of these scenarios; all of them, if none is named."""
        if not scenarios:
            return self
        present = dict.fromkeys(each.scenario for each in self.conditions())
        for name in scenarios:
            require_known(f"scenario of {self.name}", name, list(present))
        own = tuple(each for each in self.scenarios if each in scenarios)
        further = tuple(each for each in self.further if each.scenario in scenarios)
        return replace(self, scenarios=own or self.scenarios, further=further, sweep_only=self.sweep_only or not own)

    def thinned(self, every: int) -> Suite:
        """Every ``every``-th pair only, still spread over all shapes: a share of the time for wider intervals."""
        if every < 1:
            raise DeepumeError(f"every must be at least 1, got {every}: 1 takes all pairs, 4 a quarter of them.")
        return replace(
            self,
            pairs=-(-self.pairs // every),
            fewer=tuple((name, -(-count // every)) for name, count in self.fewer),
            stride=self.stride * every,
        )

    def _further_with(self, sets: tuple[str, ...], points: tuple[int, ...]) -> tuple[Condition, ...]:
        swept = [each for each in self.further if each.parameters]
        single = () if sets else tuple(each for each in self.further if not each.parameters)
        exchanged = (
            replace(each, set=name, points=size)
            for each in swept
            for name in sets or (each.set,)
            for size in points or (each.points,)
        )
        return (*single, *dict.fromkeys(exchanged))

    def pairs_of(self, name: str) -> int:
        """Pairs in a block of the named set."""
        return min(self.pairs, dict(self.fewer).get(name, self.pairs))

    def conditions(self) -> Iterator[Condition]:
        """All blocks of the table, in order."""
        if not self.sweep_only:
            for each in product(self.sets, self.scenarios, self.laws, self.points):
                yield Condition(*each)
        yield from self.further

    def methods_of(self, condition: Condition) -> list[str]:
        """Rows of a block."""
        limits = dict(self.limits)
        return [name for name in self.methods if condition.points <= limits.get(name, condition.points)]
