import json
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import Tensor

from deepume import Diagnostics, Hypothesis, Registration, RigidTransform, Symmetry, register
from deepume.arrays import to_doubles
from deepume.errors import CloudShapeError
from deepume.transform import rotation_about_axis
from strategies import generator, random_cloud, random_motion, worst

DIAGNOSTICS = Diagnostics(
    source_size=10,
    target_size=12,
    extent_ratio=1.5,
    unit_guess=None,
    source_eigenvalue_gaps=(0.1, 0.2),
    target_eigenvalue_gaps=(0.3, 0.4),
    density_ratio=0.9,
    method="pca",
    warnings=("the source is planar.",),
    seconds={"read": 0.1},
)


def make_result(*batch: int, rivals: int = 0, equivalent: bool = True) -> Registration:
    """A result with every field filled."""
    pose = random_motion(0, *batch, scaled=True)
    score = torch.rand(batch, generator=generator(0), dtype=torch.float64) + 0.8
    same = torch.ones(batch, dtype=torch.bool)
    hypotheses = [Hypothesis(pose, score, same)]
    hypotheses += [
        Hypothesis(random_motion(k + 1, *batch), score + k, same if equivalent else ~same) for k in range(rivals)
    ]
    return Registration(
        target_from_source=pose,
        score=score,
        ambiguous=same if rivals and equivalent else ~same,
        hypotheses=tuple(hypotheses),
        confidence=torch.full(batch, 0.93, dtype=torch.float64),
        symmetry=Symmetry(torch.eye(3, dtype=torch.float64)[:1], (4,)),
        residuals=random_cloud(1, *batch, 10)[..., 0].abs(),
        covariance=torch.eye(6, dtype=torch.float64).expand(*batch, 6, 6),
        spacings=random_cloud(2, *batch, 2)[..., 0].abs(),
        diagnostics=DIAGNOSTICS,
    )


def tensors(result: Registration) -> list[Tensor]:
    poses = [result.target_from_source, *(each.target_from_source for each in result.hypotheses)]
    optional = (result.score, result.ambiguous, result.confidence, result.residuals, result.covariance, result.spacings)
    found = [part for pose in poses for part in (pose.rotation, pose.translation, pose.scale)]
    found += [each.score for each in result.hypotheses] + [each.equivalent for each in result.hypotheses]
    return found + [each for each in optional if each is not None]


def same(first: Registration, second: Registration) -> bool:
    pairs = zip(tensors(first), tensors(second), strict=True)
    alike = all(np.array_equal(to_doubles(a), to_doubles(b)) for a, b in pairs)
    return alike and first.diagnostics == second.diagnostics


@pytest.mark.parametrize("batch", [(), (2,), (2, 3)])
def test_json_reads_back_without_loss(batch: tuple[int, ...]) -> None:
    result = make_result(*batch, rivals=2)
    again = Registration.from_json(result.to_json())
    assert same(result, again)
    assert again.symmetry is not None
    assert again.symmetry.orders == (4,)
    assert np.array_equal(again.symmetry.axes, np.eye(3)[:1])


def test_json_keeps_what_was_not_estimated_empty() -> None:
    result = Registration(random_motion(0), torch.tensor(1.0, dtype=torch.float64), torch.tensor(True))
    again = Registration.from_json(result.to_json())
    optional = (again.confidence, again.symmetry, again.residuals, again.covariance, again.spacings, again.diagnostics)
    assert optional == (None,) * 6
    assert bool(again.ambiguous)


def test_json_keeps_an_object_without_axes() -> None:
    result = replace(make_result(), symmetry=Symmetry(torch.zeros(0, 3, dtype=torch.float64), ()))
    again = Registration.from_json(result.to_json())
    assert again.symmetry is not None
    assert again.symmetry.axes.shape == (0, 3)
    assert again.symmetry.orders == ()


def test_json_of_a_real_result_is_plain_and_complete() -> None:
    source, motion = random_cloud(0, 60), random_motion(0)
    result = register(source, motion.apply(source), method="pca")
    plain = json.loads(result.to_json())
    assert worst(torch.tensor(plain["target_from_source"]["matrix"], dtype=torch.float64), motion.matrix) < 1e-9
    assert set(plain) == {
        "target_from_source", "score", "ambiguous", "hypotheses", "confidence", "symmetry", "residuals",
        "covariance", "spacings", "diagnostics",
    }  # fmt: skip
    assert same(result, Registration.from_json(result.to_json()))


def test_members_of_a_batch() -> None:
    result = make_result(2, 3, rivals=1)
    member = result[1][2]
    assert torch.equal(member.target_from_source.matrix, result.target_from_source.matrix[1, 2])
    assert member.score == result.score[1, 2]
    assert member.residuals is not None
    assert member.residuals.shape == (10,)
    assert member.covariance is not None
    assert member.covariance.shape == (6, 6)
    assert member.spacings is not None
    assert member.spacings.shape == (2,)
    assert len(member.hypotheses) == 2
    assert result[1].score.shape == (3,)


def test_candidates_that_only_a_neighbor_has_are_left_out_of_a_member() -> None:
    result = make_result(2, rivals=1)
    missing = replace(result.hypotheses[1], score=torch.tensor([torch.inf, 2.0], dtype=torch.float64))
    result = replace(result, hypotheses=(result.hypotheses[0], missing))
    assert [len(result[k].hypotheses) for k in range(2)] == [1, 2]


def test_explain_is_for_one_pair() -> None:
    with pytest.raises(CloudShapeError, match=r"take result\[i\]"):
        make_result(2).explain()
    assert make_result(2)[0].explain()


def explain(score: float = 1.0, **changes) -> str:
    turn = rotation_about_axis(2, torch.deg2rad(torch.tensor(30.0, dtype=torch.float64)))
    pose = RigidTransform(turn, torch.tensor([1.0, -2.5, 0.0], dtype=torch.float64))
    result = Registration(pose, torch.tensor(score, dtype=torch.float64), torch.tensor(False))
    return replace(result, **changes).explain()


def test_explain_says_the_motion() -> None:
    assert explain().startswith("The source is turned by 30.00 degrees and moved by (1, -2.5, 0). Its score is 1.00")
    assert "scaled" not in explain()
    assert "It is scaled by 2.5." in explain(target_from_source=replace(random_motion(0), scale=torch.tensor(2.5)))


@pytest.mark.parametrize(
    ("score", "words"),
    [(0.0, "coincide point by point"), (1.0, "two samplings of one surface"), (1.6, "noise"), (3.0, "probably wrong")],
)
def test_explain_says_what_a_score_means(score: float, words: str) -> None:
    assert words in explain(score)


def test_explain_says_how_far_to_trust() -> None:
    assert "probability of 93%" in explain(confidence=torch.tensor(0.93))
    assert "probability" not in explain()
    assert "ambiguous" not in explain()
    assert "leave part of the pose undetermined" in explain(ambiguous=torch.tensor(True))
    one, two = (make_result(rivals=rivals).hypotheses for rivals in (1, 2))
    assert "another pose fits equally well" in explain(hypotheses=one)
    assert "2 other poses fit equally well" in explain(hypotheses=two)
    assert "equally well" not in explain(hypotheses=make_result(rivals=2, equivalent=False).hypotheses)


def test_explain_repeats_the_warnings() -> None:
    assert explain(diagnostics=DIAGNOSTICS).endswith("Warning: the source is planar.")


def test_results_are_compared_by_their_numbers() -> None:
    result = make_result(rivals=2)
    assert result == make_result(rivals=2)
    assert result == Registration.from_json(result.to_json())
    assert result != make_result(rivals=1)
    assert result != replace(result, score=result.score + 1)
    assert result != replace(result, residuals=None)
    assert result != "a result"
    assert result.target_from_source == random_motion(0, scaled=True)
    assert result.target_from_source != random_motion(1, scaled=True)


def test_a_result_is_shown_in_one_short_line() -> None:
    source = random_cloud(0, 300).numpy()
    result = register(source, random_motion(0).apply(source))
    line = repr(result)
    assert "\n" not in line
    assert len(line) < 160
    assert line.startswith("Registration(RigidTransform(turn ")
    assert result.confidence is not None
    assert f"confidence {float(result.confidence):.0%}" in line
    assert repr(make_result(2)) == "Registration(a batch of shape (2,))"
    assert repr(random_motion(0, 2, 3)) == "RigidTransform(a batch of shape (2, 3))"
    assert "scale" in repr(random_motion(0, scaled=True))
