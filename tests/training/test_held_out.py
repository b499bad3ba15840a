import json

import pytest

from deepume.training.held_out import main, measure_weights

SMALL = [
    "shapes=(('procedural', 1.0, 64),)",
    "validation.pairs=4",
    "validation.points=64",
    "validation.scenarios=('noise-free',)",
]


def run(monkeypatch: pytest.MonkeyPatch, *words: str) -> int:
    changes = [word for change in SMALL for word in ("--set", change)]
    monkeypatch.setattr("sys.argv", ["measure", *words, *changes])
    return main()


def test_figures_are_printed_for_the_requested_scenario_and_law(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, "deepume-paper", "--set", "law=euler-45") == 0
    printed = json.loads(capsys.readouterr().out)
    assert list(printed) == ["noise-free"]
    assert printed["noise-free"]["recall_5"] == 1, "without noise the paper's network is exact"


def test_the_same_weights_give_the_same_figures_twice() -> None:
    changes = {"shapes": (("procedural", 1.0, 64),), "validation.pairs": 3, "validation.points": 48}
    assert measure_weights("deepume-paper", changes) == measure_weights("deepume-paper", changes)


def test_unknown_weights_are_bad_input(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(monkeypatch, "deepume-papre") == 2
    assert "Did you mean 'deepume-paper'" in capsys.readouterr().err
