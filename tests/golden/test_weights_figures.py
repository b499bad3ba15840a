"""Every weights file that is here does what was recorded of it. Recorded by the command in weights_figures.py."""

import json

import pytest

from golden.weights_figures import COMMAND, RECORD, figures_of, weights_here

RECORDED = json.loads(RECORD.read_text())


@pytest.mark.parametrize("name", list(weights_here()))
def test_weights_reproduce_their_recorded_figures(name: str) -> None:
    assert name in RECORDED, f"{name} has no recorded figures yet: {COMMAND}"
    found, recorded = figures_of(weights_here()[name]), RECORDED[name]
    # Angles are not compared: on a symmetric shape rounding may choose another of the poses that fit alike.
    assert found["chamfer_ratio"] == pytest.approx(recorded["chamfer_ratio"], rel=0.02)
    assert found["right"] == pytest.approx(recorded["right"], abs=0.1)


def test_no_figures_are_kept_of_weights_that_are_gone() -> None:
    assert set(RECORDED) <= set(weights_here())
