"""Batch norm, ReLU and the maximum over the edges of a point as one operation with a gradient (training).

What torch does in six sweeps over all edges (statistics, norm, ReLU, maximum and their gradients each read and write
them) takes two sweeps forward and two back.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
import triton
import triton.language as tl
from jaxtyping import Float
from torch import Tensor
from torch.autograd.function import once_differentiable

ROWS, COLUMNS = 16, 64
"""Points and channels of one program; it sweeps over their edges."""


class Normalized(NamedTuple):
    """Edges after batch norm and ReLU, and the batch statistics they were normalized by."""

    edges: Float[Tensor, "P k C"] | None
    """None if only the maxima are requested."""
    pooled: Float[Tensor, "P C"]
    """Maximum over the edges of each point."""
    mean: Float[Tensor, " C"]
    variance: Float[Tensor, " C"]
    """Biased, as the batch was normalized by it."""


def normalize_and_pool(
    mapped: Float[Tensor, "P k C"],
    weight: Float[Tensor, " C"],
    bias: Float[Tensor, " C"],
    eps: float,
    keep_edges: bool,
) -> Normalized:
    """``relu(batch_norm(mapped))`` and its maximum over the second axis; channels in multiples of 64, k below 128."""
    edges, pooled, mean, variance = _NormalizeAndPool.apply(mapped, weight, bias, eps, keep_edges)
    return Normalized(edges, pooled, mean, variance)


class _NormalizeAndPool(torch.autograd.Function):
    @staticmethod
    def forward(ctx, mapped: Tensor, weight: Tensor, bias: Tensor, eps: float, keep_edges: bool):
        mapped = mapped.contiguous()
        points, k, channels = mapped.shape
        mean, variance = _statistics(mapped)
        inverse_deviation = (variance + eps).rsqrt()
        scale = weight.float() * inverse_deviation
        shift = bias.float() - mean * scale
        edges = torch.empty_like(mapped) if keep_edges else None
        pooled = mapped.new_empty(points, channels)
        winner = mapped.new_empty(points, channels, dtype=torch.int8)
        _forward_kernel[_grid(points, channels)](
            mapped, scale, shift, edges, pooled, winner, points, k, channels, keep_edges, ROWS, COLUMNS
        )
        ctx.save_for_backward(mapped, scale, shift, mean, inverse_deviation, winner)
        ctx.mark_non_differentiable(mean, variance)
        return edges, pooled, mean, variance

    @staticmethod
    @once_differentiable
    def backward(ctx, *gradients: Tensor | None):
        of_edges, of_pooled = gradients[:2]
        mapped, scale, shift, mean, inverse_deviation, winner = ctx.saved_tensors
        points, k, channels = mapped.shape
        assert of_pooled is not None
        of_edges = None if of_edges is None else of_edges.contiguous()
        given = (mapped, scale, shift, mean, inverse_deviation, winner, of_edges, of_pooled.contiguous())
        grid, sizes = _grid(points, channels), (points, k, channels, of_edges is not None, ROWS, COLUMNS)
        partial = mapped.new_empty(2, grid[0], channels, dtype=torch.float32)
        _reduce_kernel[grid](*given, partial, *sizes)
        of_bias, of_weight = partial.sum(1)
        of_mapped = torch.empty_like(mapped)
        count = points * k
        _backward_kernel[grid](*given, of_bias / count, of_weight / count, of_mapped, *sizes)
        return of_mapped, of_weight, of_bias, None, None


def _statistics(mapped: Float[Tensor, "P k C"]) -> tuple[Float[Tensor, " C"], Float[Tensor, " C"]]:
    """Mean and biased variance of each channel: those of every program's part, merged."""
    points, k, channels = mapped.shape
    grid = _grid(points, channels)
    means, spreads = mapped.new_empty(2, grid[0], channels, dtype=torch.float32)
    _statistics_kernel[grid](mapped, means, spreads, points, k, channels, ROWS, COLUMNS)
    shares = torch.full((grid[0], 1), ROWS / points, device=mapped.device)
    shares[-1] = (points - (grid[0] - 1) * ROWS) / points
    mean = (shares * means).sum(0)
    return mean, (shares * (spreads + (means - mean).square())).sum(0)


def _grid(points: int, channels: int) -> tuple[int, int]:
    return triton.cdiv(points, ROWS), triton.cdiv(channels, COLUMNS)


@triton.jit
def _statistics_kernel(mapped, means, spreads, points, k, channels, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    """Mean and variance of the edges of this program's points; sums are of offsets from one edge, which are small."""
    row = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)[:, None]
    column = tl.program_id(1) * COLUMNS + tl.arange(0, COLUMNS)[None, :]
    inside = (row < points) & (column < channels)
    first = tl.program_id(0).to(tl.int64) * ROWS * k * channels + column
    origin = tl.load(mapped + first, column < channels, 0.0).to(tl.float32)
    plain, squared = tl.zeros((ROWS, COLUMNS), tl.float32), tl.zeros((ROWS, COLUMNS), tl.float32)
    for j in range(k):
        value = tl.load(mapped + (row * k + j) * channels + column, inside, 0.0).to(tl.float32) - origin
        value = tl.where(inside, value, 0.0)
        plain += value
        squared += value * value
    count = tl.minimum(points - tl.program_id(0) * ROWS, ROWS) * k
    shift = tl.sum(plain, 0) / count
    line = tl.program_id(1) * COLUMNS + tl.arange(0, COLUMNS)
    place, known = tl.program_id(0) * channels + line, line < channels
    start = tl.load(mapped + tl.program_id(0).to(tl.int64) * ROWS * k * channels + line, known, 0.0).to(tl.float32)
    tl.store(means + place, start + shift, known)
    tl.store(spreads + place, tl.sum(squared, 0) / count - shift * shift, known)


@triton.jit
def _forward_kernel(
    mapped, scale, shift, edges, pooled, winner, points, k, channels,
    KEEP: tl.constexpr, ROWS: tl.constexpr, COLUMNS: tl.constexpr,
):  # fmt: skip
    """Normalize, clip at zero and store each edge; remember which one was largest."""
    row = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)[:, None]
    column = tl.program_id(1) * COLUMNS + tl.arange(0, COLUMNS)[None, :]
    inside = (row < points) & (column < channels)
    known = column < channels
    times, plus = tl.load(scale + column, known, 0.0), tl.load(shift + column, known, 0.0)
    most = tl.full((ROWS, COLUMNS), -1.0, tl.float32)
    best = tl.zeros((ROWS, COLUMNS), tl.int32)
    for j in range(k):
        place = (row * k + j) * channels + column
        edge = tl.maximum(tl.load(mapped + place, inside, 0.0).to(tl.float32) * times + plus, 0.0)
        if KEEP:
            tl.store(edges + place, edge.to(edges.dtype.element_ty), inside)
        best = tl.where(edge > most, j, best)
        most = tl.maximum(edge, most)
    tl.store(pooled + row * channels + column, most.to(pooled.dtype.element_ty), inside)
    tl.store(winner + row * channels + column, best.to(tl.int8), inside)


@triton.jit
def _block(points, channels, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    """Points and channels of this program, the channels that exist, and the pairs of both that exist."""
    row = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)[:, None]
    column = tl.program_id(1) * COLUMNS + tl.arange(0, COLUMNS)[None, :]
    known = column < channels
    return row, column, known, (row < points) & known


@triton.jit
def _gradient_before_relu(value, times, plus, best, of_most, of_edges, place, inside, j, KEEP: tl.constexpr):
    """Gradient by the normalized edge: from the next layer and, for the largest edge, from the maximum."""
    gradient = tl.where(best == j, of_most, 0.0)
    if KEEP:
        gradient += tl.load(of_edges + place, inside, 0.0).to(tl.float32)
    return tl.where(value * times + plus > 0, gradient, 0.0)


@triton.jit
def _reduce_kernel(
    mapped, scale, shift, mean, inverse, winner, of_edges, of_pooled, partial, points, k, channels,
    KEEP: tl.constexpr, ROWS: tl.constexpr, COLUMNS: tl.constexpr,
):  # fmt: skip
    """Sums over edges of the gradient, and of the gradient times the normalized value: a row for each program."""
    row, column, known, inside = _block(points, channels, ROWS, COLUMNS)
    times, plus = tl.load(scale + column, known, 0.0), tl.load(shift + column, known, 0.0)
    middle, over = tl.load(mean + column, known, 0.0), tl.load(inverse + column, known, 0.0)
    best = tl.load(winner + row * channels + column, inside, -1).to(tl.int32)
    of_most = tl.load(of_pooled + row * channels + column, inside, 0.0).to(tl.float32)
    plain, weighted = tl.zeros((ROWS, COLUMNS), tl.float32), tl.zeros((ROWS, COLUMNS), tl.float32)
    for j in range(k):
        place = (row * k + j) * channels + column
        value = tl.load(mapped + place, inside, 0.0).to(tl.float32)
        gradient = _gradient_before_relu(value, times, plus, best, of_most, of_edges, place, inside, j, KEEP)
        plain += gradient
        weighted += gradient * (value - middle) * over
    line = tl.program_id(1) * COLUMNS + tl.arange(0, COLUMNS)
    place = partial + tl.program_id(0) * channels + line
    tl.store(place, tl.sum(plain, 0), line < channels)
    tl.store(place + tl.num_programs(0) * channels, tl.sum(weighted, 0), line < channels)


@triton.jit
def _backward_kernel(
    mapped, scale, shift, mean, inverse, winner, of_edges, of_pooled, mean_plain, mean_weighted, of_mapped,
    points, k, channels, KEEP: tl.constexpr, ROWS: tl.constexpr, COLUMNS: tl.constexpr,
):  # fmt: skip
    """Gradient by each edge before the norm, whose statistics depend on all edges."""
    row, column, known, inside = _block(points, channels, ROWS, COLUMNS)
    times, plus = tl.load(scale + column, known, 0.0), tl.load(shift + column, known, 0.0)
    middle, over = tl.load(mean + column, known, 0.0), tl.load(inverse + column, known, 0.0)
    drift, slope = tl.load(mean_plain + column, known, 0.0), tl.load(mean_weighted + column, known, 0.0)
    best = tl.load(winner + row * channels + column, inside, -1).to(tl.int32)
    of_most = tl.load(of_pooled + row * channels + column, inside, 0.0).to(tl.float32)
    for j in range(k):
        place = (row * k + j) * channels + column
        value = tl.load(mapped + place, inside, 0.0).to(tl.float32)
        gradient = _gradient_before_relu(value, times, plus, best, of_most, of_edges, place, inside, j, KEEP)
        gradient = times * (gradient - drift - (value - middle) * over * slope)
        tl.store(of_mapped + place, gradient.to(of_mapped.dtype.element_ty), inside)
