import math
import resource
import time
from collections.abc import Callable

import pytest
import torch
from hypothesis import given
from torch import Tensor

from deepume.geometry import neighbors as distances
from deepume.geometry.chamfer import chamfer, chamfer_squared, hausdorff, hausdorff_squared
from deepume.geometry.neighbors import brute_indices, gather_points, k_nearest, nearest, tree_indices
from strategies import batch_shapes, dtypes, random_cloud, random_motion, seeds, sizes, worst
from tolerances import ROUNDING

Batch = tuple[int, ...]
MEASURES = [chamfer, chamfer_squared, hausdorff, hausdorff_squared]


def slow_minima(source: Tensor, target: Tensor) -> list[float]:
    """For each source point the distance to the nearest target point, in plain Python."""
    return [min(math.dist(p, q) for q in target.tolist()) for p in source.tolist()]


def slow_measure(measure: Callable[..., Tensor], source: Tensor, target: Tensor) -> float:
    both = slow_minima(source, target), slow_minima(target, source)
    if measure in (chamfer_squared, hausdorff_squared):
        both = tuple([value**2 for value in way] for way in both)
    reduce = max if measure in (hausdorff, hausdorff_squared) else lambda way: math.fsum(way) / len(way)
    return reduce(both[0]) + reduce(both[1])


@pytest.mark.parametrize("measure", MEASURES)
@given(seed=seeds(), n=sizes(1, 30), m=sizes(1, 30), dtype=dtypes())
def test_measures_equal_their_slow_twins(measure, seed: int, n: int, m: int, dtype: torch.dtype) -> None:
    source, target = random_cloud(seed, n, dtype=dtype), random_cloud(seed + 1, m, dtype=dtype)
    assert float(measure(source, target)) == pytest.approx(slow_measure(measure, source, target), rel=1e-5)
    assert float(measure(target, source)) == pytest.approx(float(measure(source, target)), rel=1e-6)


@pytest.mark.parametrize("measure", MEASURES)
@given(seed=seeds(), batch=batch_shapes(), dtype=dtypes())
def test_measures_are_zero_on_a_cloud_itself_and_move_with_it(
    measure, seed: int, batch: Batch, dtype: torch.dtype
) -> None:
    source, target = random_cloud(seed, *batch, 20, dtype=dtype), random_cloud(seed + 1, *batch, 25, dtype=dtype)
    assert measure(source, source.flip(-2)).abs().max() == 0
    motion = random_motion(seed, *batch, dtype=dtype)
    before, after = measure(source, target), measure(motion.apply(source), motion.apply(target))
    assert before.shape == batch
    assert worst(before, after) < 10 * ROUNDING[dtype]


@given(seed=seeds(), batch=batch_shapes(), dtype=dtypes(), n=sizes(), m=sizes())
def test_both_searches_find_the_same_distances(seed: int, batch: Batch, dtype: torch.dtype, n: int, m: int) -> None:
    queries, points = random_cloud(seed, *batch, n, dtype=dtype), random_cloud(seed + 1, *batch, m, dtype=dtype)
    k = min(5, m)
    brute, tree = brute_indices(queries, points, k), tree_indices(queries, points, k)
    assert brute.shape == tree.shape == (*batch, n, k)
    measured = [(gather_points(points, rows) - queries.unsqueeze(-2)).norm(dim=-1) for rows in (brute, tree)]
    assert worst(*measured) < ROUNDING[dtype]


@given(seed=seeds())
def test_searches_agree_far_from_the_origin(seed: int) -> None:
    queries, points = random_cloud(seed, 50) + 1e6, random_cloud(seed + 1, 60) + 1e6
    rows = brute_indices(queries, points, 3), tree_indices(queries, points, 3)
    measured = [(gather_points(points, each) - queries.unsqueeze(-2)).norm(dim=-1) for each in rows]
    assert worst(*measured) < 1e-9


@pytest.mark.parametrize(
    ("query_batch", "point_batch"),
    [((4,), ()), ((), (4,)), ((2, 4), (1,)), ((2, 4), (2, 1)), ((2, 1), (4,)), ((1,), (1,)), ((1, 3), (2, 1))],
)
def test_batches_broadcast_in_both_searches(query_batch: Batch, point_batch: Batch) -> None:
    queries, points = random_cloud(0, *query_batch, 9), random_cloud(1, *point_batch, 11)
    batch = torch.broadcast_shapes(query_batch, point_batch)
    full = brute_indices(queries.expand(*batch, 9, 3), points.expand(*batch, 11, 3), 2)
    assert torch.equal(brute_indices(queries, points, 2), full)
    assert torch.equal(tree_indices(queries, points, 2), full)


@given(seed=seeds(), batch=batch_shapes(), dtype=dtypes())
def test_neighbors_come_nearest_first(seed: int, batch: Batch, dtype: torch.dtype) -> None:
    points = random_cloud(seed, *batch, 40, dtype=dtype)
    found = k_nearest(points, points, 6)
    assert bool((found.distances[..., 1:] >= found.distances[..., :-1]).all())
    assert bool((found.distances[..., 0] == 0).all())
    assert torch.equal(nearest(points, points).indices, torch.arange(40).expand(*batch, 40))


@pytest.mark.parametrize("search", [brute_indices, tree_indices])
def test_neighbors_come_nearest_first_where_points_nearly_coincide(search, monkeypatch) -> None:
    monkeypatch.setattr(distances, "neighbor_indices", search)
    points = torch.cat([random_cloud(0, 40, dtype=torch.float32)] * 3)
    points = points + 1e-5 * random_cloud(1, 120, dtype=torch.float32)
    found = k_nearest(points, points, 6).distances
    assert bool((found[..., 1:] >= found[..., :-1]).all())
    assert bool((found[..., 0] == 0).all())


@pytest.mark.parametrize("search", [brute_indices, tree_indices])
@pytest.mark.parametrize("measure", MEASURES)
def test_gradients_match_finite_differences(measure, search, monkeypatch) -> None:
    monkeypatch.setattr(distances, "neighbor_indices", search)
    source, target = random_cloud(0, 2, 6).requires_grad_(), random_cloud(1, 2, 8).requires_grad_()
    assert torch.autograd.gradcheck(measure, (source, target), eps=1e-7, atol=1e-6)


@pytest.mark.parametrize("measure", MEASURES)
def test_gradients_are_finite_where_points_coincide(measure) -> None:
    source = random_cloud(0, 6).requires_grad_()
    measure(source, source.detach()).backward()
    assert source.grad is not None
    assert bool(source.grad.isfinite().all())


def test_blocks_change_nothing(monkeypatch) -> None:
    queries, points = random_cloud(0, 2, 30), random_cloud(1, 2, 40)
    whole = brute_indices(queries, points, 3)
    monkeypatch.setattr(distances, "BLOCK_ELEMENTS", 100)
    assert torch.equal(brute_indices(queries, points, 3), whole)


@pytest.mark.slow
def test_chamfer_of_large_clouds_is_fast_in_bounded_memory() -> None:
    source, target = random_cloud(0, 200_000), random_cloud(1, 200_000)
    chamfer(source[:1000], target[:1000])  # imports
    before, start = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.perf_counter()
    value = float(chamfer(source, target))
    seconds = time.perf_counter() - start
    gigabytes = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 2**20
    print(f"\nchamfer of 2 x 200,000 points: {seconds:.2f} s, {gigabytes:.2f} GiB more")
    assert 0 < value < 0.1
    assert gigabytes < 1
    assert seconds < 2
