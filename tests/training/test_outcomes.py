"""Outcomes: drawn again alike, and kept."""

from pathlib import Path

import pytest
import torch

from deepume.datasets import ProceduralSet, Scenario
from deepume.errors import FileFormatError
from deepume.search.judgement.evidence import FEATURES
from deepume.training.confidence.outcomes import HELD_OUT, SCENARIOS, TRAINING, Draw, draw_all, draw_outcomes
from strategies import worst


def test_outcomes_are_drawn_again_alike() -> None:
    first, second = (next(draw_outcomes(ProceduralSet(), 1, seed=2)) for _ in range(2))
    assert (first.scenario, first.points, first.right) == (second.scenario, second.points, second.right)
    assert worst(torch.tensor(first.features), torch.tensor(second.features)) < 1e-6
    assert len(first.features) == len(FEATURES)


def test_what_was_drawn_is_kept_and_not_drawn_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    draws = [Draw("scan-validation", 0.5), Draw("scan-validation", 0.5, (Scenario.GAUSSIAN,), seed_offset=100)]
    keep = tmp_path / "drawn"
    drawn = draw_all(draws, tmp_path, 2, 5, keep)
    assert [each.scenario for each in drawn] == [*SCENARIOS, Scenario.GAUSSIAN]
    monkeypatch.setattr("deepume.training.confidence.outcomes.draw_outcomes", None)
    assert draw_all(draws, tmp_path, 2, 5, keep) == drawn
    with pytest.raises(TypeError):
        draw_all(draws, tmp_path, 2, 6, keep)


def test_the_fit_is_measured_on_what_was_held_out(tmp_path: Path) -> None:
    assert not {draw.set for draw in TRAINING} & {draw.set for draw in HELD_OUT}
    with pytest.raises(FileFormatError, match=r"train_open_0\.npz"):
        draw_all(TRAINING, tmp_path, 2, 0)


@pytest.mark.parametrize("draws", [TRAINING, HELD_OUT])
def test_no_pair_is_drawn_twice(draws: tuple[Draw, ...]) -> None:
    seeds = range(3, 40)
    assert len({(draw.set, seed + draw.seed_offset) for draw in draws for seed in seeds}) == len(draws) * len(seeds)
