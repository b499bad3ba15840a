"""Nearest neighbors on a GPU without the matrix of distances: one Triton kernel, exact differences in registers.

A library for top-k rows would write the matrix (1 GB at 256 x 1,024 x 1,024 points) and read it several times.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from jaxtyping import Float, Int
from torch import Tensor

TILE = 4096
"""Entries of the distance matrix that a program holds in registers at one time."""


def search_nearest(
    queries: Float[Tensor, "B N 3"], points: Float[Tensor, "B M 3"], k: int
) -> tuple[Float[Tensor, "B N k"], Int[Tensor, "B N k"]]:
    """Squared distances and positions of the ``k`` nearest points of each query, nearest first.

    Of equidistant points the first comes first. For ``k`` above 1, at most :data:`TILE` points.
    """
    queries, points = queries.contiguous(), points.contiguous()
    clouds, count, size = queries.shape[0], queries.shape[1], points.shape[1]
    indices = torch.empty(clouds, count, k, dtype=torch.int64, device=queries.device)
    squared = torch.empty(clouds, count, k, dtype=queries.dtype, device=queries.device)
    columns = min(triton.next_power_of_2(size), TILE if k > 1 else 1024)
    rows = max(1, TILE // columns)
    grid = (triton.cdiv(count, rows), clouds)
    kernel = _nearest_kernel if k > 1 else _one_nearest_kernel
    chosen = {"K": k} if k > 1 else {}
    kernel[grid](queries, points, squared, indices, count, size, ROWS=rows, COLUMNS=columns, num_warps=4, **chosen)
    return squared, indices


@triton.jit
def _squared_distances(queries, points, cloud, row, column, count, size):
    """Tile of squared distances, infinite beyond the last point."""
    inside, known = row < count, column < size
    query, point = queries + (cloud * count + row) * 3, points + (cloud * size + column) * 3
    x = tl.load(query, inside, 0.0)[:, None] - tl.load(point, known, 0.0)[None, :]
    y = tl.load(query + 1, inside, 0.0)[:, None] - tl.load(point + 1, known, 0.0)[None, :]
    z = tl.load(query + 2, inside, 0.0)[:, None] - tl.load(point + 2, known, 0.0)[None, :]
    return tl.where(known[None, :], x * x + y * y + z * z, float("inf"))


@triton.jit
def _nearest_kernel(
    queries, points, squared, indices, count, size, K: tl.constexpr, ROWS: tl.constexpr, COLUMNS: tl.constexpr
):
    """All points at once: take the nearest, strike it out, repeat."""
    cloud = tl.program_id(1).to(tl.int64)
    row, column = tl.program_id(0) * ROWS + tl.arange(0, ROWS), tl.arange(0, COLUMNS)
    distances = _squared_distances(queries, points, cloud, row, column, count, size)
    place = (cloud * count + row) * K
    for rank in range(K):
        least, best = tl.min(distances, 1, return_indices=True)
        tl.store(squared + place + rank, least, row < count)
        tl.store(indices + place + rank, best.to(tl.int64), row < count)
        distances = tl.where(column[None, :] == best[:, None], float("inf"), distances)


@triton.jit
def _one_nearest_kernel(queries, points, squared, indices, count, size, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    """The points tile by tile, keeping the nearest so far."""
    cloud = tl.program_id(1).to(tl.int64)
    row, column = tl.program_id(0) * ROWS + tl.arange(0, ROWS), tl.arange(0, COLUMNS)
    least, best = tl.min(_squared_distances(queries, points, cloud, row, column, count, size), 1, return_indices=True)
    for begin in range(COLUMNS, size, COLUMNS):
        tile = _squared_distances(queries, points, cloud, row, begin + column, count, size)
        nearer, position = tl.min(tile, 1, return_indices=True)
        best = tl.where(nearer < least, begin + position, best)
        least = tl.minimum(nearer, least)
    place = cloud * count + row
    tl.store(squared + place, least, row < count)
    tl.store(indices + place, best.to(tl.int64), row < count)
