import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from deepume.alignment.diagnosis import diagnose_pair, guess_units
from deepume.geometry.spacing import point_spacing
from strategies import random_cloud, random_motion


@pytest.mark.parametrize(
    ("ratio", "guess"),
    [
        (1000, "meters to millimeters"),
        (0.001, "millimeters to meters"),
        (25.4, "inches to millimeters"),
        (1 / 25.4, "millimeters to inches"),
        (100, "meters to centimeters"),
        (10, "centimeters to millimeters"),
        (1, None),
        (3, None),
        (1e6, None),
    ],
)
def test_units_are_guessed_from_the_ratio_of_extents(ratio: float, guess: str | None) -> None:
    for factor in (0.9, 1.0, 1.1):
        assert guess_units(ratio * factor) == guess


@given(ratio=st.floats(1e-9, 1e9))
def test_guesses_turn_round_with_the_pair(ratio: float) -> None:
    there, back = guess_units(ratio), guess_units(1 / ratio)
    assert (there is None) == (back is None)
    if there is not None and back is not None:
        assert there.split(" to ") == back.split(" to ")[::-1]


def test_facts_about_a_pair() -> None:
    source, target = random_cloud(0, 100), random_motion(0).apply(random_cloud(1, 400))
    facts = diagnose_pair(source, target, "pca", allow_scale=False)
    assert (facts.source_size, facts.target_size, facts.method) == (100, 400, "pca")
    assert facts.extent_ratio == pytest.approx(1, abs=0.2)
    assert facts.density_ratio == pytest.approx(float(point_spacing(source) / point_spacing(target)))
    assert facts.density_ratio > 1.2
    assert all(0 <= gap <= 1 for gap in facts.source_eigenvalue_gaps + facts.target_eigenvalue_gaps)
    assert facts.warnings == ()
    assert facts.unit_guess is None


def test_with_a_scale_densities_are_compared_in_one_unit_and_extents_do_not_warn() -> None:
    source, target = random_cloud(0, 200), 1000 * random_cloud(1, 200)
    facts = diagnose_pair(source, target, "pca", allow_scale=True)
    assert facts.density_ratio == pytest.approx(1, abs=0.3)
    assert facts.warnings == ()
    assert facts.unit_guess == "meters to millimeters"


@pytest.mark.parametrize(
    ("factor", "words"), [(1000, "times the size"), (0.001, "1/"), (3, "times the size"), (1.5, None)]
)
def test_extents_that_differ_warn_with_the_ratio(factor: float, words: str | None) -> None:
    points = random_cloud(0, 50)
    warnings = diagnose_pair(points, factor * points, "pca", allow_scale=False).warnings
    assert len(warnings) == (words is not None)
    if words is not None:
        assert words in warnings[0]
        assert f"{max(factor, 1 / factor):.4g}" in warnings[0]
        assert "scale" in warnings[0]


@pytest.mark.parametrize("unit", [1.0, 1000.0])
def test_clouds_of_very_different_density_warn_whatever_the_unit(unit: float) -> None:
    sparse, dense = random_cloud(0, 20), unit * random_cloud(1, 5000)
    (warning,) = diagnose_pair(sparse, dense, "pca", allow_scale=True).warnings
    assert warning.startswith("points of the source are")
    (warning,) = diagnose_pair(dense, sparse, "pca", allow_scale=True).warnings
    assert warning.startswith("points of the target are")
    assert diagnose_pair(sparse, random_cloud(2, 40), "pca", allow_scale=True).warnings == ()


def test_planar_clouds_warn_by_name() -> None:
    points = random_cloud(0, 50)
    flat = points * torch.tensor([1.0, 1.0, 0.0], dtype=torch.float64)
    assert [text[:20] for text in diagnose_pair(flat, points, "pca", allow_scale=False).warnings] == [
        "the source is planar"
    ]
    assert [text[:20] for text in diagnose_pair(points, flat, "pca", allow_scale=False).warnings] == [
        "the target is planar"
    ]
