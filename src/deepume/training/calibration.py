"""Fit the confidence of the default method: run it on pairs whose truth is known, and learn when it was right.

``python -m deepume.training.calibration --data FOLDER --out src/deepume/auto/confidence.json``
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from deepume.auto import Auto
from deepume.auto.confidence import FEATURES, probability
from deepume.auto.judge import judge_poses
from deepume.auto.placement import prepare_pair
from deepume.datasets import Dataset, Law, Pair, PairKey, Scenario, make_pair, open_set
from deepume.metrics import RIGHT_ANGLE_DEG, calibration_error, is_right, rotation_error_deg

SIZES = (64, 128, 256, 512, 1024)
SCENARIOS = (*(each for each in Scenario if each is not Scenario.PAPER_TRAINING), Scenario.DIFFERENT)
"""All of them, different objects twice: they alone have no right answer."""
PARTIAL = (Scenario.OVERLAP, Scenario.OCCLUSION)
"""Where the clouds show different parts, a wrong pose can bring them closer than the true one."""
HIDDEN = 12
"""Units of the hidden layer."""
DECAY = 1e-3
"""Weight decay: little data, so a smooth model."""
STEPS = 300


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
            yield measure(make_pair(dataset, PairKey(dataset.name, scenario, Law.HAAR, points, index, seed)))


def measure(pair: Pair) -> Outcome:
    """Register one pair. Different objects have no right answer; parts of one are right by the rotation alone."""
    prepared, placement = prepare_pair(pair.source, pair.target)
    poses, sampling = Auto().find(prepared, None, None)
    judgement = judge_poses(prepared, poses, sampling)
    answer = placement.restore(poses)[0]
    if pair.key.scenario in PARTIAL:
        right = float(rotation_error_deg(answer, pair.target_from_source)) <= RIGHT_ANGLE_DEG
    else:
        right = bool(is_right(answer, pair.target_from_source, pair.source, pair.target))
    right = right and pair.key.scenario is not Scenario.DIFFERENT
    return Outcome(pair.key.scenario, pair.key.n, judgement.features.tolist(), right)


def fit(outcomes: Sequence[Outcome], *, seed: int = 0) -> dict[str, Tensor]:
    """Weights of :func:`deepume.auto.confidence.probability` by maximum likelihood with weight decay."""
    features = torch.tensor([each.features for each in outcomes], dtype=torch.float64)
    right = torch.tensor([float(each.right) for each in outcomes], dtype=torch.float64)
    generator = torch.Generator().manual_seed(seed)
    shapes = {"hidden": (len(FEATURES), HIDDEN), "hidden_bias": (HIDDEN,), "output": (HIDDEN,), "output_bias": ()}
    weights = {
        name: (0.5 * torch.randn(shape, generator=generator, dtype=torch.float64)).requires_grad_()
        for name, shape in shapes.items()
    }
    optimizer = torch.optim.LBFGS(list(weights.values()), max_iter=STEPS, line_search_fn="strong_wolfe")

    def loss() -> Tensor:
        optimizer.zero_grad()
        likelihood = torch.nn.functional.binary_cross_entropy(probability(features, weights), right)
        total = likelihood + DECAY * (weights["hidden"].square().mean() + weights["output"].square().mean())
        total.backward()
        return total

    optimizer.step(loss)  # pyright: ignore[reportArgumentType]
    return {name: value.detach() for name, value in weights.items()}


def main(data: Path, out: Path, pairs: int = 250, seed: int = 0) -> None:
    """Fit on training shapes, write the model, and report the calibration on held-out shapes."""
    outcomes = list(draw_outcomes(open_set("open-train", data), pairs, seed=seed))
    model = fit(outcomes)
    plain = {name: np.round(value.numpy(), 6).tolist() for name, value in model.items()}
    command = f"python -m deepume.training.calibration --pairs {pairs} --seed {seed}"
    out.write_text(json.dumps({"command": command, "features": FEATURES, "weights": plain}, indent=1) + "\n")
    report(list(draw_outcomes(open_set("open-validation", data), max(1, pairs // 3), seed=seed)), model)


def report(outcomes: Sequence[Outcome], model: dict[str, Tensor]) -> None:
    """Print right answers, mean confidence and calibration error by scenario and by size."""
    groups = {f"{each.scenario}" for each in outcomes} | {f"{each.points}" for each in outcomes}
    for name in ("all", *sorted(groups)):
        chosen = [each for each in outcomes if name in ("all", each.scenario, str(each.points))]
        predicted = probability(torch.tensor([each.features for each in chosen], dtype=torch.float64), model)
        right = torch.tensor([float(each.right) for each in chosen], dtype=torch.float64)
        error, doubtful = calibration_error(predicted, right), float((predicted < 0.5).double().mean())
        print(
            f"{name:14} {len(chosen):5} pairs, right {float(right.mean()):.3f}, "
            f"confidence {float(predicted.mean()):.3f}, below 0.5: {doubtful:.3f}, calibration error {error:.3f}"
        )


if __name__ == "__main__":
    import tyro

    tyro.cli(main)
