import pytest
import torch
from hypothesis import given
from torch import Tensor

from deepume.geometry.clouds import center
from deepume.geometry.moments import (
    discrete_ume,
    distance_from_center,
    indicator_functions,
    moment_matrix,
    polynomial_functions,
    radial_functions,
)
from strategies import batch_shapes, dtypes, generator, random_cloud, random_motion, seeds, worst
from tolerances import ROUNDING

Batch = tuple[int, ...]


def families(batch: Batch, dtype: torch.dtype) -> dict[str, list]:
    steps = torch.linspace(0, 4, 6, dtype=dtype).expand(*batch, 6)
    return {
        "indicator": indicator_functions(steps),
        "polynomial": polynomial_functions(4),
        "radial": radial_functions(steps),
    }


@pytest.mark.parametrize("family", ["indicator", "polynomial", "radial"])
@pytest.mark.parametrize("weighted", [False, True])
@given(seed=seeds(), batch=batch_shapes(), dtype=dtypes())
def test_moments_turn_with_the_cloud(family, weighted, seed: int, batch: Batch, dtype: torch.dtype) -> None:
    # Distances from the center on a lattice of halves: rotation rounds no value across the edge of a bin.
    points = center(random_cloud(seed, *batch, 50, dtype=dtype))
    radius = points.norm(dim=-1, keepdim=True)
    points = points / radius * (torch.floor(radius * 2) + 0.5) / 2
    rotation = random_motion(seed, *batch, dtype=dtype).rotation
    weights = torch.rand(*batch, 50, generator=generator(seed), dtype=dtype) if weighted else None
    functions = families(batch, dtype)[family]
    before = discrete_ume(points, distance_from_center(points), functions, weights)
    turned = points @ rotation.mT
    after = discrete_ume(turned, distance_from_center(turned), functions, weights)
    assert before.shape == (*batch, len(functions), 3)
    assert worst(after, before @ rotation.mT) < ROUNDING[dtype] * (1 + float(before.abs().max()))


@given(seed=seeds(), batch=batch_shapes(), dtype=dtypes())
def test_the_general_form_is_the_theorem(seed: int, batch: Batch, dtype: torch.dtype) -> None:
    points = random_cloud(seed, *batch, 20, dtype=dtype)
    invariant = torch.rand(*batch, 20, generator=generator(seed), dtype=dtype)
    functions = [torch.sin, torch.square, lambda value: value > 0.5]
    found = discrete_ume(points, invariant, [lambda v, w=w: w(v).to(dtype) for w in functions])
    for j, w in enumerate(functions):
        row = sum(w(invariant[..., n]).to(dtype).unsqueeze(-1) * points[..., n, :] for n in range(20)) / 20
        assert isinstance(row, Tensor)
        assert worst(found[..., j, :], row) < ROUNDING[dtype]


@given(seed=seeds(), batch=batch_shapes(), dtype=dtypes())
def test_weights_stand_for_repeated_points(seed: int, batch: Batch, dtype: torch.dtype) -> None:
    points = random_cloud(seed, *batch, 20, dtype=dtype)
    features = torch.rand(*batch, 20, 4, generator=generator(seed), dtype=dtype)
    counts = torch.randint(1, 4, (20,), generator=generator(seed))
    weights = (counts / counts.sum()).to(dtype).expand(*batch, 20)
    repeated = moment_matrix(points.repeat_interleave(counts, -2), features.repeat_interleave(counts, -2))
    assert worst(moment_matrix(points, features, weights), repeated) < ROUNDING[torch.float32]
    even = torch.full((*batch, 20), 1 / 20, dtype=dtype)
    assert worst(moment_matrix(points, features, even), moment_matrix(points, features)) < ROUNDING[dtype]


@given(seed=seeds(), dtype=dtypes())
def test_moments_do_not_see_the_order_of_points(seed: int, dtype: torch.dtype) -> None:
    points = random_cloud(seed, 20, dtype=dtype)
    features = torch.rand(20, 4, generator=generator(seed), dtype=dtype)
    order = torch.randperm(20, generator=generator(seed))
    assert worst(moment_matrix(points[order], features[order]), moment_matrix(points, features)) < ROUNDING[dtype]


def test_indicators_cut_the_range_into_disjoint_bins() -> None:
    edges = torch.tensor([0.0, 1.0, 2.0, 4.0])
    values = torch.tensor([0.0, 0.5, 1.0, 3.9, 4.0, 5.0])
    bins = torch.stack([function(values) for function in indicator_functions(edges)])
    assert bins.tolist() == [[1, 1, 0, 0, 0, 0], [0, 0, 1, 0, 0, 0], [0, 0, 0, 1, 0, 0]]


def test_polynomials_vanish_at_zero() -> None:
    values = torch.tensor([0.0, 2.0])
    assert [function(values).tolist() for function in polynomial_functions(3)] == [[0, 2], [0, 4], [0, 8]]


def test_radial_functions_peak_at_their_centers() -> None:
    centers = torch.tensor([0.0, 1.0, 2.0])
    peaks = torch.stack([function(centers) for function in radial_functions(centers)])
    assert torch.equal(peaks.argmax(-1), torch.arange(3))
    assert worst(peaks.diagonal(), torch.ones(3)) == 0
    assert peaks[0, 1] == pytest.approx(torch.tensor(-0.5).exp())
