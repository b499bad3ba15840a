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
from typing import Any

import numpy as np
import torch

from deepume.auto import Auto
from deepume.auto.confidence import LEAF, Trees, make_trees, probability
from deepume.auto.evidence import FEATURES
from deepume.auto.judge import judge_poses
from deepume.auto.placement import prepare_pair
from deepume.datasets import Dataset, Law, PairKey, Scenario, make_pair, open_set
from deepume.datasets.scenarios import MARRED, zero
from deepume.errors import MissingPackageError
from deepume.io.packages import import_package
from deepume.metrics import calibration_error, is_right

SIZES = (64, 128, 256, 512, 1024)
SCENARIOS = (*(each for each in Scenario if each is not Scenario.PAPER_TRAINING), Scenario.DIFFERENT)
"""All of them, different objects twice: they alone have no right answer."""
WEIGHTS = {Scenario.OCCLUSION: 2.5, Scenario.DENSITY: 2.5}
"""What a pair counts in the fit where it is not 1: scenarios that are often answered wrongly must be heard among the
many that hardly ever are. Chosen by cross-validation on training shapes."""
TREES = {
    "objective": "binary",
    "boost_from_average": False,
    "num_leaves": 16,
    "min_data_in_leaf": 60,
    "learning_rate": 0.04,
    "lambda_l2": 10.0,
    "bagging_fraction": 0.7,
    "bagging_freq": 1,
    "feature_fraction": 0.6,
    "seed": 0,
    "deterministic": True,
    "num_threads": 1,
    "verbose": -1,
}
"""Of LightGBM: small trees, each on a part of the pairs and of the features."""
MOST_ROUNDS, PATIENCE, FOLDS = 600, 50, 4
"""Trees at most, how many in a row may bring nothing on unseen shapes, and parts of these, each left unseen once."""
DIGITS = 5
"""Decimals of what is stored."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """One pair: what the method saw, and whether it was right."""

    scenario: str
    points: int
    shape: int
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
    return Outcome(key.scenario, key.n, key.index, judgement.features.tolist(), right)


def fit(outcomes: Sequence[Outcome]) -> Trees:
    """The model of :func:`deepume.auto.confidence.probability`: trees that each mend what those before got wrong.

    As many as help on shapes that they have not seen. What they state of unseen pairs is likelier by a twentieth than
    what a network with a hidden layer makes of the same features.
    """
    lightgbm = load_lightgbm()
    features = np.array([each.features for each in outcomes])
    right = np.array([float(each.right) for each in outcomes])
    counts = np.array([WEIGHTS.get(Scenario(each.scenario), 1.0) for each in outcomes])
    data = lightgbm.Dataset(features, right, weight=counts, free_raw_data=False)
    patience = lightgbm.early_stopping(PATIENCE, verbose=False)
    part = np.array([each.shape for each in outcomes]) % FOLDS
    folds = [((part != k).nonzero()[0], (part == k).nonzero()[0]) for k in range(FOLDS)]
    trial = lightgbm.cv(TREES, data, MOST_ROUNDS, folds=folds, callbacks=[patience])
    booster = lightgbm.train(TREES, data, len(trial["valid binary_logloss-mean"]))
    nodes = chain.from_iterable(_nodes(tree["tree_structure"]) for tree in booster.dump_model()["tree_info"])
    return make_trees(*zip(*nodes, strict=True))


def load_lightgbm() -> Any:
    """The package that fits trees, or an error that says what it lacks."""
    try:
        return import_package("lightgbm", "deepume[calibrate]")
    except OSError as error:  # its wheel leaves the threads of its C++ to the system
        reason = f"LightGBM is installed but cannot start ({error})"
        raise MissingPackageError(f"{reason}; on Debian: apt-get install libgomp1") from error


def _nodes(branch: dict[str, Any]) -> Iterator[tuple[int, float]]:
    """Feature and number of all nodes of a branch: itself first, then all to its left, then all to its right."""
    if "leaf_value" in branch:
        yield LEAF, round(branch["leaf_value"], DIGITS)
        return
    yield branch["split_feature"], round(branch["threshold"], DIGITS)
    yield from _nodes(branch["left_child"])
    yield from _nodes(branch["right_child"])


def main(
    data: Path, out: Path, pairs: int = 60, seeds: tuple[int, ...] = tuple(range(3, 47)), workers: int = 2
) -> None:
    """Fit on training shapes, write the model, and report the calibration on held-out shapes, two thirds as many."""
    with ProcessPoolExecutor(workers, get_context("spawn"), torch.set_num_threads, (1,)) as pool:
        training = pool.map(partial(_draw_from, "open-train", data, pairs), seeds)
        held_out = pool.map(partial(_draw_from, "open-validation", data, pairs * 2 // 3), seeds)
        model = fit(list(chain.from_iterable(training)))
        write_model(
            model, out, f"python -m deepume.training.calibration --pairs {pairs} --seeds {' '.join(map(str, seeds))}"
        )
        report(list(chain.from_iterable(held_out)), model)


def _draw_from(name: str, data: Path, pairs: int, seed: int) -> list[Outcome]:
    return list(draw_outcomes(open_set(name, data), pairs, seed=seed))


def write_model(model: Trees, out: Path, command: str) -> None:
    """The file that :func:`deepume.auto.confidence.load_model` reads, a line for each list."""
    lists = {name: getattr(model, name).tolist() for name in ("feature", "number")}
    trees = ",\n".join(f'"{name}": {json.dumps(values, separators=(",", ":"))}' for name, values in lists.items())
    head = f'"command": {json.dumps(command)},\n"features": {json.dumps(FEATURES)}'
    out.write_text(f'{{{head},\n"trees": {{\n{trees}\n}}}}\n')


def report(outcomes: Sequence[Outcome], model: Trees) -> None:
    """Print right answers, mean confidence and calibration error, by size, and by scenario."""
    groups = {"all": list(outcomes)}
    groups |= {f"{size} points": [each for each in outcomes if each.points == size] for size in SIZES}
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
