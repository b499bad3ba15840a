"""What is measured together: a suite is methods x sets x scenarios x laws x sizes, on identical pairs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from deepume.datasets import Dataset, Law, PairKey, Scenario
from deepume.errors import DeepumeError, require_known


@dataclass(frozen=True, slots=True)
class Condition:
    """One block of a table: everything about its pairs but the index."""

    set: str
    scenario: Scenario
    law: Law
    points: int

    def keys(self, dataset: Dataset, pairs: int, seed: int, stride: int = 1) -> list[PairKey]:
        """Keys of the first pairs: shapes in order, ``stride`` apart, going round; each round is drawn anew."""
        size = len(dataset)
        return [
            PairKey(self.set, self.scenario, self.law, self.points, index % size, seed + index // size)
            for index in range(0, pairs * stride, stride)
        ]


@dataclass(frozen=True, slots=True)
class Suite:
    """A named benchmark."""

    name: str
    """The word on the command line."""
    title: str
    """What it shows."""
    methods: tuple[str, ...]
    """Rows of each block; see also :data:`deepume.benchmark.references.REFERENCES`."""
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
    by_class: tuple[str, ...] = ()
    """Sets whose large classes get rows of their own besides."""

    def __post_init__(self) -> None:
        """Refuse a suite with nothing in it."""
        if self.pairs < 1 or not all((self.methods, self.sets, self.scenarios, self.laws, self.points)):
            raise DeepumeError(f"Suite {self.name!r} is empty: it needs methods, sets, scenarios, laws, points, pairs.")

    def narrowed(
        self,
        *,
        methods: tuple[str, ...] = (),
        sets: tuple[str, ...] = (),
        points: tuple[int, ...] = (),
        pairs: int | None = None,
    ) -> Suite:
        """The suite with other methods, sets, numbers of points or of pairs, where they are given."""
        suite = replace(self, further=()) if sets else self
        given = {"methods": methods, "sets": sets, "points": points, "pairs": pairs}
        return replace(suite, **{name: value for name, value in given.items() if value not in (None, ())})

    def pairs_of(self, name: str) -> int:
        """Pairs in a block of the named set."""
        return min(self.pairs, dict(self.fewer).get(name, self.pairs))

    def conditions(self) -> Iterator[Condition]:
        """All blocks of the table, in order."""
        for name in self.sets:
            for scenario in self.scenarios:
                for law in self.laws:
                    for points in self.points:
                        yield Condition(name, scenario, law, points)
        yield from self.further


CLOSED_FORM = ("identity", "pca", "ume", "ume-3")
LOCAL_SEARCH = ("icp", "frames-icp", "frames-gicp", "grid-icp")
PEERS = ("grid-icp-576", "goicp", "fgr", "ransac", "kiss-matcher")
COMPARED = tuple(f"{name}{law}" for name in ("pointnetlk", "dcp-v1", "dcp", "deepgmr", "rgm") for law in ("", "-60"))
OURS = ("deepume-paper", "deepume", "deepume-small")
FLOOR = ("truth-icp", "truth-gicp")
SCANS = ("stanford", "faust")
DEFAULT = ("auto", "auto-fast", "auto-thorough", "auto-unlearned")
OTHER_PAIRS = (
    (Scenario.ZERO, 256),
    (Scenario.ZERO, 128),
    (Scenario.ZERO, 64),
    (Scenario.ZERO_NOISE, 128),
    (Scenario.DENSITY, 1024),
)
"""Scenarios and sizes in which the default method is measured beside the paper's."""

SUITES = {
    suite.name: suite
    for suite in (
        Suite(
            "core",
            "Closed-form methods and local search, zero intersection, any rotation",
            methods=(*CLOSED_FORM, *LOCAL_SEARCH, *FLOOR),
            sets=("stanford", "faust"),
        ),
        Suite(
            "default",
            "The default method, what it is made of, and its peers, from 64 to 1,024 points",
            methods=(*DEFAULT, "frames-gicp", "grid-icp", "ransac", "fgr", "kiss-matcher", *FLOOR),
            sets=SCANS,
            scenarios=(Scenario.ZERO, Scenario.BERNOULLI, Scenario.GAUSSIAN),
            pairs=240,
            fewer=(("faust", 220),),
            further=(
                *(Condition(name, scenario, Law.HAAR, points) for scenario, points in OTHER_PAIRS for name in SCANS),
                Condition("stanford", Scenario.DIFFERENT, Law.HAAR, 1024),
                Condition("procedural", Scenario.ZERO, Law.HAAR, 1024),
                Condition("procedural", Scenario.DIFFERENT, Law.HAAR, 1024),
                Condition("modelnet40-test", Scenario.ZERO, Law.HAAR, 1024),
            ),
        ),
        Suite(
            "network",
            "The networks alone, without refinement, in every scenario of the paper, sparse and of uneven density",
            methods=("pca", "ume", *OURS),
            sets=(*SCANS, "modelnet40-test"),
            scenarios=(Scenario.NOISE_FREE, Scenario.BERNOULLI, Scenario.ZERO, Scenario.GAUSSIAN),
            pairs=240,
            fewer=(("faust", 220), ("faust-meters", 220), ("modelnet40-test", 180)),
            by_class=("modelnet40-test",),
            further=(
                *(Condition(name, Scenario.ZERO, Law.HAAR, 128) for name in SCANS),
                *(Condition(name, Scenario.DENSITY, Law.HAAR, 1024) for name in SCANS),
                *(Condition(name, Scenario.ZERO, Law.EULER_FULL, 1024) for name in ("stanford", "faust-meters")),
            ),
        ),
        Suite(
            "methods",
            "Every method, zero intersection, any rotation and small angles",
            methods=(*CLOSED_FORM, *LOCAL_SEARCH, "auto", *PEERS, *COMPARED, *OURS, *FLOOR),
            sets=("stanford", "faust"),
            laws=(Law.HAAR, Law.EULER_FULL, Law.EULER_60),
            pairs=60,
            fewer=(("faust", 44),),
            stride=4,
        ),
        Suite(
            "quick",
            "The same methods on procedural shapes, in a minute",
            methods=(*CLOSED_FORM, "icp", "frames-gicp", *FLOOR),
            sets=("procedural",),
            scenarios=(Scenario.NOISE_FREE, Scenario.ZERO, Scenario.GAUSSIAN),
            points=(512,),
            pairs=30,
        ),
    )
}
"""All suites by name."""


def get_suite(name: str, *, has_data: bool = True) -> Suite:
    """The suite of a name; without data, its methods on procedural shapes."""
    require_known("suite", name, list(SUITES))
    suite = SUITES[name]
    return suite if has_data else suite.narrowed(sets=("procedural",))
