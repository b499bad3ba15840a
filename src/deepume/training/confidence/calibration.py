"""Fit the confidence of the default method: run it on pairs whose truth is known, and learn when it was right.

``python -m deepume.training.confidence.calibration --data FOLDER --out src/deepume/search/judgement/confidence.json``
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from itertools import chain
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import torch

from deepume.datasets import Scenario
from deepume.datasets.pairs.metrics import calibration_error
from deepume.errors import MissingPackageError
from deepume.io.packages import import_package
from deepume.search.judgement.confidence import LEAF, Trees, make_trees, probability
from deepume.search.judgement.evidence import FEATURES
from deepume.training.confidence.outcomes import HELD_OUT, SCENARIOS, SIZES, TRAINING, Outcome, draw_all

WEIGHTS = {
    Scenario.DENSITY: 0.25,
    Scenario.OVERLAP: 0.125,
    Scenario.OCCLUSION: 0.65,
    Scenario.DIFFERENT: 0.75,
}
"""What a pair of a scenario counts in the fit where it is not 1. Two views of an object that were laid wrongly may look
like two samplings of one scan, and so may two objects that are alike: whichever counts more is stated better, at the
cost of the others. Chosen by cross-validation on training shapes, for the least largest error."""
TREES = {
    "objective": "binary",
    "boost_from_average": False,
    "num_leaves": 16,
    "min_data_in_leaf": 60,
    "learning_rate": 0.09,
    "lambda_l2": 10.0,
    "bagging_fraction": 0.7,
    "bagging_freq": 1,
    "feature_fraction": 0.35,
    "seed": 0,
    "deterministic": True,
    "num_threads": 1,
    "verbose": -1,
}
"""Of LightGBM: small trees, each on a part of the pairs and of the features."""
MOST_ROUNDS, PATIENCE, FOLDS = 190, 50, 4
"""Trees at most, how many in a row may bring nothing on unseen shapes, and parts of these, each left unseen once. A
hundred more would be right a little oftener, and surer of parts that were laid wrongly."""
DIGITS = 5
"""Significant digits of what is stored. Decimals would not do: to part 0 from all below it, a tree asks for -1e-35."""


def fit(outcomes: Sequence[Outcome]) -> Trees:
    """The model of :mod:`deepume.search.judgement.confidence`: trees that each mend what those before got wrong.

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
        yield LEAF, _shorten(branch["leaf_value"])
        return
    yield branch["split_feature"], _shorten(branch["threshold"])
    yield from _nodes(branch["left_child"])
    yield from _nodes(branch["right_child"])


def _shorten(value: float) -> float:
    return float(f"{value:.{DIGITS}g}")


def main(
    data: Path,
    out: Path,
    pairs: int = 60,
    seeds: tuple[int, ...] = tuple(range(3, 17)),
    workers: int = 2,
    keep: Path | None = None,
) -> None:
    """Fit on training shapes, write the model, and report the calibration on held-out shapes, about half as many.

    It takes more than an hour. With ``keep``, a folder, what was drawn is kept there, and an interrupted run goes on.
    """
    with ProcessPoolExecutor(workers, get_context("spawn"), torch.set_num_threads, (1,)) as pool:
        draws = [pool.map(partial(draw_all, draws, data, pairs, keep=keep), seeds) for draws in (TRAINING, HELD_OUT)]
        training, held_out = (list(chain.from_iterable(each)) for each in draws)
    model = fit(training)
    command = f"python -m deepume.training.confidence.calibration --pairs {pairs} --seeds {' '.join(map(str, seeds))}"
    write_model(model, out, command)
    report(held_out, model)


def write_model(model: Trees, out: Path, command: str) -> None:
    """The file that :func:`deepume.search.judgement.confidence.load_model` reads, a line for each list."""
    lists = {name: getattr(model, name).tolist() for name in ("feature", "number")}
    trees = ",\n".join(f'"{name}": {json.dumps(values, separators=(",", ":"))}' for name, values in lists.items())
    head = f'"command": {json.dumps(command)},\n"features": {json.dumps(FEATURES)}'
    out.write_text(f'{{{head},\n"trees": {{\n{trees}\n}}}}\n')


def report(outcomes: Sequence[Outcome], model: Trees) -> None:
    """Print right answers, mean confidence and calibration error by size and by scenario, of all and set by set."""
    sets = {name: [each for each in outcomes if each.set == name] for name in dict.fromkeys(o.set for o in outcomes)}
    for name, members in {"all": outcomes, **sets}.items():
        groups = {name: members}
        groups |= {f"  {size} points": [each for each in members if each.points == size] for size in SIZES}
        groups |= {f"  {scenario}": [each for each in members if each.scenario == scenario] for scenario in SCENARIOS}
        for title, group in groups.items():
            _report_line(title, group, model)


def _report_line(title: str, outcomes: Sequence[Outcome], model: Trees) -> None:
    predicted = torch.from_numpy(probability(np.array([each.features for each in outcomes]), model))
    right = torch.tensor([float(each.right) for each in outcomes], dtype=torch.float64)
    error, doubtful = calibration_error(predicted, right), float((predicted < 0.5).double().mean())
    print(
        f"{title:15} {len(outcomes):5} pairs, right {float(right.mean()):.3f}, "
        f"confidence {float(predicted.mean()):.3f}, below 0.5: {doubtful:.3f}, calibration error {error:.3f}"
    )


if __name__ == "__main__":
    import tyro

    tyro.cli(main)
