"""What comes in: arrays, shapes, values, units."""

from functools import partial
from typing import cast

import numpy as np
import pytest
import torch
from torch import Tensor

from deepume import register
from deepume.api import MethodName
from deepume.datasets.pairs.metrics import rotation_error_deg
from deepume.errors import CloudShapeError, CloudValueError
from deepume.methods.claims import pose_deviation
from ready_methods import READY
from sampled_pairs import FLAT, bits, clouds, with_bad_rows
from strategies import random_cloud, random_motion, worst


def test_every_kind_of_array_gives_the_same_answer() -> None:
    source, target, _ = clouds(150, 150)
    expected = bits(register(source, target, method="pca"))
    for kind in (torch.Tensor.numpy, torch.Tensor.tolist, torch.clone, partial(np.asfortranarray)):
        assert bits(register(kind(source), kind(target), method="pca")) == expected


def test_single_precision_is_computed_in_double() -> None:
    source, target, _ = clouds(300, 300)
    single, double = register(source.float(), target.float().numpy()), register(source, target)
    assert single.target_from_source.rotation.dtype == torch.float64
    assert pose_deviation(single.target_from_source, double.target_from_source, source, target) < 1e-4


def test_integers_are_coordinates() -> None:
    source = (1000 * random_cloud(0, 100)).round()
    turn = torch.tensor([[0, -1, 0], [1, 0, 0], [0, 0, 1]], dtype=torch.float64)
    target = source @ turn.mT + 7
    for dtype in (torch.int32, torch.int64, torch.int16):
        result = register(source.to(dtype), target.to(dtype))
        assert worst(result.target_from_source.rotation, turn) < 1e-9
    result = register(source.numpy().astype(int), target.numpy().astype(int))
    assert worst(result.target_from_source.translation, torch.full((3,), 7.0)) < 1e-6


@pytest.mark.parametrize("shape", [(3,), (3, 100), (100, 2), (100, 4), (2, 100, 3), (0,), (0, 3)])
@pytest.mark.parametrize("which", ["source", "target"])
def test_a_wrong_shape_is_named(shape: tuple[int, ...], which: str) -> None:
    good, bad = random_cloud(0, 50), torch.zeros(shape)
    source, target = (bad, good) if which == "source" else (good, bad)
    with pytest.raises((CloudShapeError, CloudValueError), match=which) as caught:
        register(source, target)
    assert str(shape) in str(caught.value) or "0 points" in str(caught.value)


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (random_cloud(0, 1), "has 1 points; at least 3"),
        (random_cloud(0, 2), "has 2 points; at least 3"),
        (with_bad_rows(random_cloud(0, 30)), "2 of 32 points with NaN or infinite"),
        (torch.ones(40, 3), "all points are equal"),
        (torch.linspace(0, 1, 40)[:, None].expand(40, 3), "on one line"),
        (random_cloud(0, 40) * 1e200, "too large to square"),
    ],
)
@pytest.mark.parametrize("which", ["source", "target"])
def test_a_cloud_without_a_pose_is_refused(bad: Tensor, message: str, which: str) -> None:
    good = random_cloud(1, 50)
    source, target = (bad, good) if which == "source" else (good, bad)
    with pytest.raises(CloudValueError, match=f"{which}.*{message}"):
        register(source, target)


def test_invalid_points_are_dropped_when_asked_for() -> None:
    source, target, _ = clouds(150, 150)
    clean = register(source, target, method="pca")
    dropped = register(with_bad_rows(source), with_bad_rows(target), method="pca", drop_invalid=True)
    assert bits(dropped) == bits(clean)
    with pytest.raises(CloudValueError, match="has 0 points"):
        register(source * torch.nan, target, drop_invalid=True)


@pytest.mark.parametrize("copies", [2, 5])
def test_repeated_points_count_once(copies: int) -> None:
    source, target, _ = clouds(250, 250)
    once, often = register(source, target), register(source.repeat(copies, 1), target.repeat_interleave(copies, 0))
    assert pose_deviation(once.target_from_source, often.target_from_source, source, target) < 1e-9
    assert worst(once.score, often.score) < 1e-9
    assert often.residuals is not None
    assert often.residuals.shape == (250 * copies,)


def test_planar_clouds_are_registered_with_a_warning() -> None:
    flat, motion = random_cloud(0, 150) * FLAT, random_motion(0)
    result = register(flat, motion.apply(flat))
    assert result.diagnostics is not None
    assert sum("planar" in warning for warning in result.diagnostics.warnings) == 2
    assert pose_deviation(result.target_from_source, motion, flat, motion.apply(flat)) < 1e-6


def test_three_points_are_enough_and_silent(capfd: pytest.CaptureFixture[str]) -> None:
    points, motion = random_cloud(0, 3), random_motion(0)
    result = register(points, motion.apply(points))
    assert pose_deviation(result.target_from_source, motion, points, motion.apply(points)) < 1e-6
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("offset", [1e6, 1e9])
def test_huge_offsets_keep_precision(offset: float) -> None:
    source, motion = random_cloud(0, 250), random_motion(0)
    shift = offset * torch.tensor([1.0, -0.7, 0.3], dtype=torch.float64)
    here, there = source + shift, motion.apply(source) - shift
    result = register(here, there)
    assert worst(result.target_from_source.rotation, motion.rotation) < 1e-6
    assert worst(result.target_from_source.apply(here), there) < 1e-6


@pytest.mark.parametrize("factor", [1e-9, 1e-3, 1e3, 1e9])
def test_the_unit_does_not_matter(factor: float) -> None:
    source, target, _ = clouds(250, 220)
    here, there = register(source, target), register(factor * source, factor * target)
    assert worst(here.target_from_source.rotation, there.target_from_source.rotation) < 1e-9
    assert worst(here.score, there.score) < 1e-9
    assert here.residuals is not None
    assert there.residuals is not None
    assert worst(here.residuals, there.residuals / factor) < 1e-9


@pytest.mark.parametrize(
    ("factor", "guess"), [(1000, "meters to millimeters"), (0.001, "millimeters to meters"), (25.4, "inches to")]
)
def test_other_units_are_warned_of_with_the_ratio(factor: float, guess: str) -> None:
    source, target, _ = clouds(400, 400)
    result = register(source, factor * target, method="pca")
    assert result.diagnostics is not None
    (warning,) = result.diagnostics.warnings
    assert guess in warning
    assert result.diagnostics.unit_guess is not None
    assert result.diagnostics.extent_ratio == pytest.approx(factor, rel=0.1)
    assert f"{max(result.diagnostics.extent_ratio, 1 / result.diagnostics.extent_ratio):.4g}" in warning
    assert warning in result.explain()


@pytest.mark.parametrize("factor", [1000, 0.3])
@pytest.mark.parametrize("family", ["chair", "airplane", "body"])
def test_a_scale_is_recovered_within_one_percent(factor: float, family: str) -> None:
    source, target, motion = clouds(800, 700, family)
    result = register(source, factor * target, allow_scale=True)
    assert float(result.scale) == pytest.approx(factor, rel=0.01)
    assert rotation_error_deg(result.target_from_source, motion) < 2


def test_a_scale_of_shared_points_is_exact() -> None:
    source, motion = random_cloud(0, 250), random_motion(0, scaled=True)
    result = register(source, motion.apply(source), allow_scale=True)
    assert worst(result.target_from_source.matrix, motion.matrix) < 1e-6
    assert "scaled by" in result.explain()


def test_without_a_scale_it_is_exactly_one() -> None:
    source, target, _ = clouds(150, 150)
    for method in cast(list[MethodName], READY):
        assert float(register(source, target, method=method).scale) == 1
