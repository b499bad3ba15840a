"""Fit the confidence of the default method: run it on pairs whose truth is known, and learn when it was right.

``python -m deepume.training.calibration --data FOLDER --out src/deepume/auto/confidence.json``
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import chain
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import binary_cross_entropy

from deepume.auto import Auto
from deepume.auto.confidence import probability
from deepume.auto.evidence import FEATURES
from deepume.auto.judge import judge_poses
from deepume.auto.placement import prepare_pair
from deepume.datasets import Dataset, Law, PairKey, Scenario, make_pair, open_set
from deepume.datasets.scenarios import MARRED, PARTIAL, zero
from deepume.metrics import calibration_error, is_right

SIZES = (64, 128, 256, 512, 1024)
SCENARIOS = (*(each for each in Scenario if each is not Scenario.PAPER_TRAINING), Scenario.DIFFERENT)
"""All of them, different objects twice: they alone have no right answer."""
WEIGHTS = {Scenario.OVERLAP: 0.3, Scenario.OCCLUSION: 0.3, Scenario.DENSITY: 14.0, Scenario.DIFFERENT: 5.0}
"""What a pair counts in the fit where it is not 1. The method is for whole objects, but must not be sure of itself on
parts; uneven samplings of one object and different objects look alike, so that both need a say in where they part.
Chosen by the report on held-out shapes."""
HIDDEN = 8
"""Units of the hidden layer."""
DECAY = 1e-3
"""Weight decay: little data, so a smooth model."""
STEPS = 300
STARTS = 6
"""Fits from as many random weights; the likeliest is kept, for a small network has several local optima."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """One pair: what the method saw, and whether it was right."""

    scenario: str
    points: int
    features: list[float]
    right: bool


def draw_outcomes(dataset: Dataset, pairs: int, *, seed: int = 0) -> Iterator[Outcome]:
    """Outcomes of ``pairs`` pairs for every scenario, sizes in turn, every time another shape."""
    index = seed
    for k in range(pairs):
        for scenario in SCENARIOS:
            points, index = SIZES[k % len(SIZES)], (index + 7) % len(dataset)
            yield measure(dataset, PairKey(dataset.name, scenario, Law.HAAR, points, index, seed))


def measure(dataset: Dataset, key: PairKey) -> Outcome:
    """Register one pair; different objects have no right answer, and others are judged on the whole clouds."""
    pair = make_pair(dataset, key)
    prepared, placement = prepare_pair(pair.source, pair.target)
    finish, rivals = Auto().find(prepared)
    judgement = judge_poses(prepared, finish, rivals)
    answer, truth = placement.restore(judgement.poses)[0], pair.target_from_source
    whole = make_pair(dataset, key, draw=zero) if key.scenario in MARRED else pair
    right = key.scenario is not Scenario.DIFFERENT and bool(is_right(answer, truth, whole.source, whole.target))
    return Outcome(key.scenario, key.n, judgement.features.tolist(), right)


def fit(outcomes: Sequence[Outcome], *, starts: int = STARTS) -> dict[str, Tensor]:
    """Weights of :func:`deepume.auto.confidence.probability` by maximum likelihood with weight decay."""
    return min((_fit_from(seed, outcomes) for seed in range(starts)), key=lambda found: found[0])[1]


def _fit_from(seed: int, outcomes: Sequence[Outcome]) -> tuple[float, dict[str, Tensor]]:
    """Loss and weights at the optimum that random weights lead to."""
    features = torch.tensor([each.features for each in outcomes], dtype=torch.float64)
    right = torch.tensor([float(each.right) for each in outcomes], dtype=torch.float64)
    counts = torch.tensor([WEIGHTS.get(Scenario(each.scenario), 1.0) for each in outcomes])
    generator = torch.Generator().manual_seed(seed)
    shapes = {"hidden": (len(FEATURES), HIDDEN), "hidden_bias": (HIDDEN,), "output": (HIDDEN,), "output_bias": ()}
    weights = {
        name: (0.5 * torch.randn(shape, generator=generator, dtype=torch.float64)).requires_grad_()
        for name, shape in shapes.items()
    }
    optimizer = torch.optim.LBFGS(list(weights.values()), max_iter=STEPS, line_search_fn="strong_wolfe")

    def loss() -> Tensor:
        optimizer.zero_grad()
        surprise = binary_cross_entropy(probability(features, weights), right, counts.to(right)) * len(counts)
        decay = DECAY / HIDDEN * (weights["hidden"].square().sum() + weights["output"].square().sum())
        total = surprise / counts.sum() + decay
        total.backward()
        return total

    optimizer.step(loss)  # pyright: ignore[reportArgumentType]
    return loss().item(), {name: value.detach() for name, value in weights.items()}


def main(
    data: Path, out: Path, pairs: int = 86, seeds: tuple[int, ...] = tuple(range(3, 11)), workers: int = 2
) -> None:
    """Fit on training shapes, write the model, and report the calibration on held-out shapes."""
    with ProcessPoolExecutor(workers, get_context("spawn"), torch.set_num_threads, (1,)) as pool:
        training = pool.map(partial(_draw_from, "open-train", data, pairs), seeds)
        held_out = pool.map(partial(_draw_from, "open-validation", data, pairs // 3), seeds)
        model = fit(list(chain.from_iterable(training)))
        write_model(
            model, out, f"python -m deepume.training.calibration --pairs {pairs} --seeds {' '.join(map(str, seeds))}"
        )
        report(list(chain.from_iterable(held_out)), model)


def _draw_from(name: str, data: Path, pairs: int, seed: int) -> list[Outcome]:
    return list(draw_outcomes(open_set(name, data), pairs, seed=seed))


def write_model(model: dict[str, Tensor], out: Path, command: str) -> None:
    """The file that :func:`deepume.auto.confidence.load_model` reads."""
    weights = {name: np.round(value.numpy(), 6).tolist() for name, value in model.items()}
    out.write_text(json.dumps({"command": command, "features": FEATURES, "weights": weights}, indent=1) + "\n")


def report(outcomes: Sequence[Outcome], model: dict[str, Tensor]) -> None:
    """Print right answers, mean confidence and calibration error, of whole objects by size, and by scenario."""
    whole = [each for each in outcomes if each.scenario not in PARTIAL]
    groups = {"whole objects": whole}
    groups |= {f"{size} points": [each for each in whole if each.points == size] for size in SIZES}
    groups |= {str(name): [each for each in outcomes if each.scenario == name] for name in dict.fromkeys(SCENARIOS)}
    for name, members in groups.items():
        predicted = probability(torch.tensor([each.features for each in members], dtype=torch.float64), model)
        right = torch.tensor([float(each.right) for each in members], dtype=torch.float64)
        error, doubtful = calibration_error(predicted, right), float((predicted < 0.5).double().mean())
        print(
            f"{name:14} {len(members):5} pairs, right {float(right.mean()):.3f}, "
            f"confidence {float(predicted.mean()):.3f}, below 0.5: {doubtful:.3f}, calibration error {error:.3f}"
        )


if __name__ == "__main__":
    import tyro

    tyro.cli(main)
