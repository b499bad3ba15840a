"""Confidence: high for right answers, low for wrong pairs, and fitted as it says."""

import json
from importlib.resources import files
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import torch

from deepume import register
from deepume.datasets import PairKey, ProceduralSet, Scenario, make_pair
from deepume.datasets.pairs.laws import Law
from deepume.datasets.pairs.metrics import calibration_error
from deepume.errors import MissingPackageError
from deepume.search.judgement.confidence import LEAF, load_model, make_trees, probability
from deepume.search.judgement.evidence import FEATURES
from deepume.training.confidence.calibration import fit, load_lightgbm, report, write_model
from deepume.training.confidence.outcomes import SCENARIOS, SIZES, Outcome, draw_outcomes
from strategies import generator, random_cloud, worst


def confidences(scenario: Scenario, n: int, count: int = 8) -> torch.Tensor:
    dataset = ProceduralSet(seed=1)
    pairs = (make_pair(dataset, PairKey(dataset.name, scenario, Law.HAAR, n, 5 * k, 0)) for k in range(count))
    results = (register(pair.source, pair.target) for pair in pairs)
    return torch.stack([result.confidence for result in results if result.confidence is not None])


@pytest.mark.parametrize("scenario", [Scenario.ZERO, Scenario.GAUSSIAN, Scenario.BERNOULLI])
def test_answers_on_one_object_are_trusted(scenario: Scenario) -> None:
    assert float(confidences(scenario, 300).median()) > 0.9


def test_answers_on_different_objects_are_not() -> None:
    stated = confidences(Scenario.DIFFERENT, 300, 24)  # an ellipsoid and a round superquadric among them
    assert float((stated < 0.5).double().mean()) > 0.9


def test_noise_is_not_trusted() -> None:
    result = register(random_cloud(0, 200), torch.randn(200, 3, generator=generator(0), dtype=torch.float64))
    assert result.confidence is not None
    assert float(result.confidence) < 0.5
    assert not result.sure


def test_the_model_in_the_package_is_made_for_these_features() -> None:
    stored = json.loads((files("deepume.search.judgement") / "confidence.json").read_text())
    assert tuple(stored["features"]) == FEATURES
    assert stored["command"].startswith("python -m deepume.training.confidence.calibration")
    assert int(load_model().feature.max()) < len(FEATURES)
    stated = probability(np.random.default_rng(0).random((50, len(FEATURES))))
    assert bool(((stated >= 0) & (stated <= 1)).all())


def test_trees_add_up_the_leaves_that_their_decisions_lead_to() -> None:
    # The first asks for feature 0 and, if that is large, for feature 1; the second is a single leaf.
    trees = make_trees([0, LEAF, 1, LEAF, LEAF, LEAF], [0.5, -1.0, 0.3, 2.0, 4.0, 0.25])
    assert trees.roots.tolist() == [0, 5]
    assert trees.right.tolist() == [2, 1, 4, 3, 4, 5]
    rows = np.array([[0.5, 9.0], [0.6, 0.3], [0.6, 0.4]])
    assert trees.depth == 2
    assert worst(probability(rows, trees), 1 / (1 + np.exp([0.75, -2.25, -4.25]))) < 1e-12
    assert worst(probability(rows[1], trees), probability(rows, trees)[1]) == 0


@pytest.fixture
def trees() -> None:
    """Where LightGBM lacks a library of the system, nothing can be fitted."""
    try:
        load_lightgbm()
    except MissingPackageError as error:
        pytest.skip(str(error))


@pytest.mark.usefixtures("trees")
def test_a_model_that_was_written_is_read_back(tmp_path: Path) -> None:
    outcomes = list(draw_outcomes(ProceduralSet(), 1, seed=2)) * 20
    model = fit(outcomes)
    write_model(model, tmp_path / "model.json", "python -m deepume.training.confidence.calibration")
    stored = json.loads((tmp_path / "model.json").read_text())
    features = np.array([each.features for each in outcomes])
    assert worst(probability(features, make_trees(**stored["trees"])), probability(features, model)) == 0


@pytest.mark.usefixtures("trees")
def test_a_fit_states_the_frequencies_of_pairs_it_was_not_shown() -> None:
    features, _, right = draw_chances(0)
    shown = enumerate(zip(features.tolist(), right.tolist(), strict=True))
    model = fit([Outcome("open-train", "zero", 64, shape, row, bool(hit)) for shape, (row, hit) in shown])
    features, truth, right = draw_chances(1)
    stated = torch.from_numpy(probability(features, model))
    assert calibration_error(stated, right) < 0.05
    assert float((stated - truth).abs().mean()) < 0.1


@pytest.mark.usefixtures("trees")
def test_a_fit_tells_zero_from_all_below_it() -> None:
    # Dense clouds have 0 where sparse ones have what the network says, which is negative.
    draws = np.random.default_rng(2).random((3000, len(FEATURES)))
    is_zero = np.arange(3000) % 2 == 0
    draws[:, 4] = np.where(is_zero, 0.0, -draws[:, 4])
    right = np.where(is_zero, draws[:, 0] < 0.9, draws[:, 0] < 0.1)
    shown = enumerate(zip(draws[:, 1:].tolist(), right.tolist(), strict=True))
    model = fit([Outcome("open-train", "zero", 64, shape, [0.0, *row], hit) for shape, (row, hit) in shown])
    draws[:, 0] = 0.0
    stated = probability(draws, model)
    assert float(stated[is_zero].mean()) == pytest.approx(0.9, abs=0.03)
    assert float(stated[~is_zero].mean()) == pytest.approx(0.1, abs=0.03)


def test_the_report_counts_every_pair_once_by_size_and_once_by_scenario(capsys: pytest.CaptureFixture[str]) -> None:
    outcomes = [
        Outcome(name, scenario, size, 0, [0.0] * len(FEATURES), right=True)
        for name, count in (("open-validation", 3), ("scan-validation", 1))
        for scenario in SCENARIOS[:-1]
        for size in SIZES
        for _ in range(count)
    ]
    report(outcomes, load_model())
    lines = capsys.readouterr().out.splitlines()
    heads = [k for k, line in enumerate(lines) if not line.startswith(" ")]
    assert [lines[k].split()[0] for k in heads] == ["all", "open-validation", "scan-validation"]
    for head, next_head in pairwise([*heads, len(lines)]):
        counts = [int(line[: line.index(" pairs")].split()[-1]) for line in lines[head:next_head]]
        assert sum(counts[1:]) == 2 * counts[0]


def draw_chances(seed: int) -> tuple[np.ndarray, torch.Tensor, torch.Tensor]:
    """Features of which the first alone decides, with what chance an answer is right, and whether it is."""
    draws = torch.rand(3000, len(FEATURES) + 1, generator=generator(seed), dtype=torch.float64)
    truth = torch.sigmoid(6 * draws[:, 0] - 3)
    return draws[:, :-1].numpy(), truth, (draws[:, -1] < truth).double()
