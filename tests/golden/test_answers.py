"""The default method answers as it did: recorded by the command in answers.py."""

import json

import pytest
import torch

from deepume.result import SURE
from golden.answers import COMMAND, RECORD, Case, describe_machine, list_cases

RECORDED = json.loads(RECORD.read_text())
TOLERANCE = 1e-9 if RECORDED["machine"] == describe_machine() else 1e-3
"""Elsewhere the last digits differ, and what is decided on them must not."""
ROUNDING = 1e-12
"""Of what is zero but for it, such as the score of clouds that coincide."""


@pytest.mark.parametrize("case", list(list_cases()), ids=lambda case: case.name)
def test_an_answer_is_as_recorded(case: Case) -> None:
    assert case.name in RECORDED["answers"], f"{case.name} is not recorded yet: {COMMAND}"
    recorded, found = RECORDED["answers"][case.name], case.answer()
    for name in ("ambiguous", "orders"):
        assert found[name] == recorded[name], name
    if recorded["confidence"] is not None:
        assert (found["confidence"] >= SURE) == (recorded["confidence"] >= SURE)
    poses, others = ([each[0] for each in answer["hypotheses"]] for answer in (found, recorded))
    assert len(poses) == len(others)
    assert [each[2] for each in found["hypotheses"]] == [each[2] for each in recorded["hypotheses"]]
    for name in ("pose", "score", "confidence", "covariance", "residual"):
        assert_close(found[name], recorded[name], name)
    assert_close(as_lines(found["axes"]), as_lines(recorded["axes"]), "axes")
    assert_close(poses, others, "hypotheses")
    scores, rivals = ([each[1] for each in answer["hypotheses"]] for answer in (found, recorded))
    assert_close(scores, rivals, "scores")


def as_lines(axes: list[list[float]] | None) -> list[list[float]] | None:
    """Axes without a direction, which an axis of symmetry does not have: the largest entry of each is positive."""
    return axes and [[value * (1 if max(axis, key=abs) > 0 else -1) for value in axis] for axis in axes]


def assert_close(found: object, recorded: object, name: str) -> None:
    if recorded is None:
        assert found is None, name
        return
    expected = torch.tensor(recorded, dtype=torch.float64)
    if expected.numel():
        allowed = TOLERANCE * float(expected.abs().max()) + ROUNDING
        assert float((torch.tensor(found, dtype=torch.float64) - expected).abs().max()) <= allowed, name


def test_all_that_is_recorded_is_asked() -> None:
    assert [case.name for case in list_cases()] == list(RECORDED["answers"])
    assert len(RECORDED["answers"]) == 80
