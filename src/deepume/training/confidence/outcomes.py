"""What the default method makes of pairs whose truth is known: what it saw of each, and whether it was right."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import NamedTuple

from deepume.datasets import Dataset, Law, PairKey, Scenario, make_pair, open_set
from deepume.datasets.pairs.metrics import is_right
from deepume.datasets.pairs.scenarios import MISLEADING, zero
from deepume.methods.auto import Auto

SIZES = (64, 128, 256, 512, 1024)
SCENARIOS = (*(each for each in Scenario if each is not Scenario.PAPER_TRAINING), Scenario.DIFFERENT)
"""All of them, different objects twice: they alone have no right answer."""
OFTEN_WRONG = (Scenario.DENSITY, Scenario.OVERLAP, Scenario.OCCLUSION)
"""Scenarios of which many pairs tell little, since every other answer is wrong."""


class Draw(NamedTuple):
    """Pairs of one set."""

    set: str
    share: float
    """How many for each scenario, compared with other draws."""
    scenarios: tuple[Scenario, ...] = SCENARIOS
    seed_offset: int = 0
    """Added to the seed: where a set is drawn from twice, no pair must come twice."""


TRAINING = (
    Draw("open-train", 1.0),
    Draw("scan-train", 0.5),
    Draw("open-train", 3.0, OFTEN_WRONG, seed_offset=100),
    Draw("scan-train", 1.5, OFTEN_WRONG, seed_offset=100),
)
HELD_OUT = (
    Draw("open-validation", 2 / 3),
    Draw("scan-validation", 1 / 3),
    Draw("open-validation", 8 / 3, OFTEN_WRONG, seed_offset=100),
    Draw("scan-validation", 2 / 3, OFTEN_WRONG, seed_offset=100),
)
"""What a model is fitted to and judged by. Scans show an object from one side, as parts do that were laid wrongly: a
model that has not seen them doubts them."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """One pair: what the method saw, and whether it was right."""

    set: str
    scenario: str
    points: int
    shape: int
    features: list[float]
    right: bool


def draw_all(draws: Sequence[Draw], data: Path, pairs: int, seed: int, keep: Path | None = None) -> list[Outcome]:
    """Outcomes of one seed; with ``keep``, a folder, those that it holds are not drawn again."""
    return [outcome for draw in draws for outcome in _draw_or_read(draw, data, pairs, seed + draw.seed_offset, keep)]


def _draw_or_read(draw: Draw, data: Path, pairs: int, seed: int, keep: Path | None) -> list[Outcome]:
    pairs = round(draw.share * pairs)
    kept = None if keep is None else keep / f"{draw.set}-{len(draw.scenarios)}x{pairs}-{seed}.json"
    if kept is not None and kept.is_file():
        return [Outcome(*each) for each in json.loads(kept.read_text())]
    outcomes = list(draw_outcomes(open_set(draw.set, data), pairs, draw.scenarios, seed=seed))
    if kept is not None:
        kept.parent.mkdir(parents=True, exist_ok=True)
        part = kept.with_suffix(".partial")  # written whole or not at all
        part.write_text(json.dumps([astuple(each) for each in outcomes]))
        part.replace(kept)
    return outcomes


def draw_outcomes(
    dataset: Dataset, pairs: int, scenarios: Sequence[Scenario] = SCENARIOS, *, seed: int = 0
) -> Iterator[Outcome]:
    """Outcomes of ``pairs`` pairs for every scenario, sizes in turn, every time another shape."""
    index = seed
    for k in range(pairs):
        for scenario in scenarios:
            points, index = SIZES[k % len(SIZES)], (index + 7) % len(dataset)
            yield measure(dataset, PairKey(dataset.name, scenario, Law.HAAR, points, index, seed))


def measure(dataset: Dataset, key: PairKey) -> Outcome:
    """Register one pair; different objects have no right answer, and others are judged on the whole clouds."""
    pair = make_pair(dataset, key)
    answer = Auto().answer(pair.source, pair.target)
    whole = make_pair(dataset, key, draw=zero) if key.scenario in MISLEADING else pair
    right = key.scenario is not Scenario.DIFFERENT and bool(
        is_right(answer.pose.to(pair.source), pair.target_from_source, whole.source, whole.target)
    )
    return Outcome(key.set, key.scenario, key.n, key.index, answer.features.tolist(), right)
