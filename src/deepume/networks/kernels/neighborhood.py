"""The maximum over the neighbors of each point, with a gradient of one sweep: that of ``amax`` takes four."""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from jaxtyping import Float
from torch import Tensor
from torch.autograd.function import once_differentiable

ROWS, COLUMNS = 16, 64
"""Points and channels of one program."""


def pool_neighbors(edges: Float[Tensor, "*batch k C"]) -> Float[Tensor, "*batch C"]:
    """``edges.amax(-2)``; of equal edges only the first gets the gradient. At most 127 neighbors."""
    return _PoolNeighbors.apply(edges)  # pyright: ignore[reportReturnType]


class _PoolNeighbors(torch.autograd.Function):
    @staticmethod
    def forward(ctx, edges: Tensor) -> Tensor:
        edges = edges.contiguous()
        pooled = edges.new_empty(*edges.shape[:-2], edges.shape[-1])
        winner = torch.empty_like(pooled, dtype=torch.int8)
        _forward_kernel[_grid(pooled)](
            edges, pooled, winner, _count(pooled), edges.shape[-2], edges.shape[-1], ROWS, COLUMNS
        )
        ctx.save_for_backward(winner)
        ctx.shape = edges.shape
        return pooled

    @staticmethod
    @once_differentiable
    def backward(ctx, *gradients: Tensor):
        (winner,) = ctx.saved_tensors
        of_pooled = gradients[0].contiguous()
        of_edges = of_pooled.new_empty(ctx.shape)
        _backward_kernel[_grid(winner)](
            winner, of_pooled, of_edges, _count(winner), ctx.shape[-2], ctx.shape[-1], ROWS, COLUMNS
        )
        return of_edges


def _count(pooled: Tensor) -> int:
    return pooled.numel() // pooled.shape[-1]


def _grid(pooled: Tensor) -> tuple[int, int]:
    return triton.cdiv(_count(pooled), ROWS), triton.cdiv(pooled.shape[-1], COLUMNS)


@triton.jit
def _forward_kernel(edges, pooled, winner, count, k, channels, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)[:, None]
    column = tl.program_id(1) * COLUMNS + tl.arange(0, COLUMNS)[None, :]
    inside = (row < count) & (column < channels)
    most = tl.full((ROWS, COLUMNS), float("-inf"), tl.float32)
    best = tl.zeros((ROWS, COLUMNS), tl.int32)
    for j in range(k):
        edge = tl.load(edges + (row * k + j) * channels + column, inside, 0.0).to(tl.float32)
        best = tl.where(edge > most, j, best)
        most = tl.maximum(edge, most)
    tl.store(pooled + row * channels + column, most.to(pooled.dtype.element_ty), inside)
    tl.store(winner + row * channels + column, best.to(tl.int8), inside)


@triton.jit
def _backward_kernel(winner, of_pooled, of_edges, count, k, channels, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)[:, None]
    column = tl.program_id(1) * COLUMNS + tl.arange(0, COLUMNS)[None, :]
    inside = (row < count) & (column < channels)
    best = tl.load(winner + row * channels + column, inside, -1).to(tl.int32)
    gradient = tl.load(of_pooled + row * channels + column, inside, 0.0)
    for j in range(k):
        tl.store(of_edges + (row * k + j) * channels + column, tl.where(best == j, gradient, 0.0), inside)
