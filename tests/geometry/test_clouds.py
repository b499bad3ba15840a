import pytest
import torch
from hypothesis import given
from torch import Tensor

from deepume.datasets.pairs.scenarios import density
from deepume.errors import CloudShapeError, CloudValueError
from deepume.geometry.clouds import (
    center,
    centroid,
    check_cloud,
    rms_radius,
    subsample_farthest,
    subsample_random,
    subsample_voxel,
    to_unit_sphere,
)
from deepume.geometry.neighbors import nearest
from deepume.geometry.spacing import area_weights, point_spacing
from strategies import batch_shapes, dtypes, generator, random_cloud, random_motion, seeds, worst
from tolerances import ROUNDING

Batch = tuple[int, ...]


def with_value(value: float) -> Tensor:
    points = random_cloud(0, 10)
    points[2, 1] = points[7, 0] = points[7, 2] = value
    return points


LINE = torch.linspace(-1, 1, 30, dtype=torch.float64)[:, None] * torch.tensor([1.0, 2.0, -3.0], dtype=torch.float64)
BROKEN = {
    "columns": (torch.zeros(3, 100), CloudShapeError, r"\(\.\.\., N, 3\), got \(3, 100\)\. Columns of points\?"),
    "flat": (torch.zeros(9), CloudShapeError, r"got \(9,\)"),
    "two-dimensional": (torch.zeros(9, 2), CloudShapeError, r"got \(9, 2\)"),
    "empty": (torch.zeros(0, 3), CloudValueError, "has 0 points; at least 3"),
    "few": (random_cloud(0, 2), CloudValueError, "has 2 points; at least 3 that are not on one line"),
    "nan": (with_value(torch.nan), CloudValueError, "2 of 10 points with NaN or infinite.*drop_invalid=True"),
    "infinite": (with_value(torch.inf), CloudValueError, "2 of 10 points with NaN or infinite"),
    "equal": (torch.full((9, 3), 7.25), CloudValueError, "all points are equal"),
    "zero": (torch.zeros(9, 3), CloudValueError, "all points are equal"),
    "equal to rounding": (1e8 + random_cloud(0, 9, dtype=torch.float32), CloudValueError, "all points are equal"),
    "line": (LINE, CloudValueError, "all points lie on one line.*Add points"),
    "line far away": (LINE + 1e9, CloudValueError, "one line"),
    "line in single precision": (LINE.float() + 1000, CloudValueError, "one line"),
    "line of two places": (LINE[[0, 1] * 5], CloudValueError, "one line"),
    "overflow": (random_cloud(0, 9) * 1e200, CloudValueError, "beyond 1e.150"),
    "underflow": (random_cloud(0, 9) * 1e-200, CloudValueError, "smaller than 1e-150"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_cloud_is_named_with_its_remedy(name: str) -> None:
    points, error, message = BROKEN[name]
    with pytest.raises(error, match=message) as caught:
        check_cloud(points, "target")
    assert "target" in str(caught.value)


def test_one_broken_cloud_of_a_batch_is_enough() -> None:
    batch = random_cloud(0, 4, 30)
    check_cloud(batch, "source")
    batch[2] = LINE
    with pytest.raises(CloudValueError, match="one line"):
        check_cloud(batch, "source")


@pytest.mark.parametrize("factor", [1e-100, 1e-6, 1.0, 1e9, 1e100])
@pytest.mark.parametrize("flat", [False, True])
def test_clouds_of_any_unit_and_planar_ones_pass(factor: float, flat: bool) -> None:
    points = random_cloud(0, 30) * factor
    check_cloud(points * torch.tensor([1.0, 1.0, 1.0 - flat], dtype=torch.float64), "source")
    check_cloud(points[:3], "source")


@given(seed=seeds(), batch=batch_shapes(), dtype=dtypes())
def test_center_and_size(seed: int, batch: Batch, dtype: torch.dtype) -> None:
    points, motion = random_cloud(seed, *batch, 30, dtype=dtype), random_motion(seed, *batch, dtype=dtype)
    moved = motion.apply(points)
    assert centroid(center(points)).abs().max() < ROUNDING[dtype]
    assert worst(centroid(moved), motion.apply(centroid(points).unsqueeze(-2)).squeeze(-2)) < ROUNDING[dtype]
    assert worst(rms_radius(moved), rms_radius(points)) < ROUNDING[dtype]
    assert worst(rms_radius(3 * points), 3 * rms_radius(points)) < 3 * ROUNDING[dtype]
    assert worst(point_spacing(moved), point_spacing(points)) < ROUNDING[dtype]
    unit = to_unit_sphere(moved)
    assert worst(unit.norm(dim=-1).amax(-1), torch.ones(batch, dtype=dtype)) < ROUNDING[dtype]
    even = torch.full(points.shape[:-1], 1 / 30, dtype=dtype)
    assert worst(centroid(points, even), centroid(points)) < ROUNDING[dtype]


@given(seed=seeds(), batch=batch_shapes(), dtype=dtypes())
def test_area_weights_sum_to_one_and_turn_with_the_cloud(seed: int, batch: Batch, dtype: torch.dtype) -> None:
    points, motion = random_cloud(seed, *batch, 40, dtype=dtype), random_motion(seed, *batch, dtype=dtype)
    weights = area_weights(points)
    assert worst(weights.sum(-1), torch.ones(batch, dtype=dtype)) < ROUNDING[dtype]
    assert weights.min() > 0
    assert worst(weights, area_weights(motion.apply(5 * points))) < 10 * ROUNDING[dtype]
    order = torch.randperm(40, generator=generator(seed))
    assert worst(weights[..., order], area_weights(points[..., order, :])) < ROUNDING[dtype]
    assert weights.max() <= 25.001 * weights.min()


def test_area_weights_survive_repeated_points() -> None:
    weights = area_weights(random_cloud(0, 5).repeat(20, 1))
    assert bool(weights.isfinite().all())


def sphere(seed: int, *shape: int) -> Tensor:
    points = torch.randn(*shape, 3, generator=generator(seed), dtype=torch.float64)
    return points / points.norm(dim=-1, keepdim=True)


@pytest.mark.parametrize("seed", range(3))
def test_area_weights_undo_a_density_gradient(seed: int) -> None:
    points = sphere(seed, 4000)
    kept = torch.rand(4000, generator=generator(seed)) < 0.6 + 0.4 * points[:, 2]
    points, weights = points[kept], area_weights(points[kept])
    even = torch.eye(3, dtype=torch.float64) / 3
    assert centroid(points).norm() > 0.15  # the center of a sphere is 0
    assert centroid(points, weights).norm() < 0.05
    assert ((weights[:, None] * points).mT @ points - even).abs().max() < 0.05


@pytest.mark.parametrize("seed", range(3))
def test_area_weights_soften_a_gradient_beyond_their_clip(seed: int) -> None:
    _, thinned = density(sphere(seed, 4000), 1000, generator=generator(seed))
    assert centroid(thinned, area_weights(thinned)).norm() < 0.8 * centroid(thinned).norm()


@given(seed=seeds(), batch=batch_shapes(), dtype=dtypes())
def test_farthest_points_move_with_the_cloud_in_any_order(seed: int, batch: Batch, dtype: torch.dtype) -> None:
    points, motion = random_cloud(seed, *batch, 40, dtype=dtype), random_motion(seed, *batch, dtype=dtype)
    chosen = subsample_farthest(points, 9)
    order = torch.randperm(40, generator=generator(seed))
    assert chosen.shape == (*batch, 9, 3)
    assert torch.equal(subsample_farthest(points[..., order, :], 9), chosen)
    assert worst(subsample_farthest(motion.apply(points), 9), motion.apply(chosen)) < ROUNDING[dtype]


def test_farthest_points_cover_the_cloud_as_far_as_they_are_apart() -> None:
    points = sphere(0, 2000)
    chosen = subsample_farthest(points, 50)
    assert nearest(points, chosen).distances.max() <= torch.pdist(chosen).min()
    assert torch.equal(subsample_farthest(points, 2000), points)
    assert torch.equal(subsample_farthest(points, 5000), points)


@given(seed=seeds(), batch=batch_shapes(), dtype=dtypes())
def test_random_points_are_drawn_without_replacement(seed: int, batch: Batch, dtype: torch.dtype) -> None:
    points = random_cloud(seed, *batch, 30, dtype=dtype)
    chosen = subsample_random(points, 12, generator=generator(seed))
    same = (chosen.unsqueeze(-2) == points.unsqueeze(-3)).all(-1)
    assert bool((same.sum(-1) == 1).all())
    assert bool((same.sum(-2) <= 1).all())
    assert torch.equal(chosen, subsample_random(points, 12, generator=generator(seed)))
    assert not torch.equal(chosen, subsample_random(points, 12, generator=generator(seed + 1)))


@given(seed=seeds(), dtype=dtypes())
def test_voxels_keep_one_mean_for_each_occupied_cell(seed: int, dtype: torch.dtype) -> None:
    points, size = random_cloud(seed, 200, dtype=dtype), 0.4
    thinned = subsample_voxel(points, size)
    cells = {tuple(cell) for cell in torch.floor((points - points.amin(0)) / size).long().tolist()}
    assert len(thinned) == len(cells)
    order = torch.randperm(200, generator=generator(seed))
    assert worst(subsample_voxel(points[order], size), thinned) < ROUNDING[dtype]
    whole = subsample_voxel(points, 100.0)
    assert worst(whole, centroid(points).unsqueeze(0)) < ROUNDING[dtype]
    assert len(subsample_voxel(points, 1e-6)) == 200
