"""Layer norm of short tokens: torch gives each token of 64 or 128 numbers a whole block of threads."""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from jaxtyping import Float
from torch import Tensor
from torch.autograd.function import once_differentiable

TILE = 4096
"""Numbers that a program holds at one time."""
SWEEPS = 16
"""Tiles of one program: each leaves one row of sums for the gradients of the weights."""


def normalize_tokens(
    tokens: Float[Tensor, "*batch C"], weight: Float[Tensor, " C"], bias: Float[Tensor, " C"], eps: float
) -> Float[Tensor, "*batch C"]:
    """``layer_norm`` over the last axis in the precision of the tokens, sums in float32."""
    return _NormalizeTokens.apply(tokens, weight, bias, eps)  # pyright: ignore[reportReturnType]


class _NormalizeTokens(torch.autograd.Function):
    @staticmethod
    def forward(ctx, tokens: Tensor, weight: Tensor, bias: Tensor, eps: float) -> Tensor:
        tokens = tokens.contiguous()
        count, width, columns, rows = _sizes(tokens)
        normed = torch.empty_like(tokens)
        _forward_kernel[(triton.cdiv(count, rows),)](tokens, weight, bias, normed, count, eps, width, columns, rows)
        ctx.save_for_backward(tokens, weight)
        ctx.eps = eps
        return normed

    @staticmethod
    @once_differentiable
    def backward(ctx, *gradients: Tensor):
        tokens, weight = ctx.saved_tensors
        count, width, columns, rows = _sizes(tokens)
        programs = triton.cdiv(count, rows * SWEEPS)
        of_tokens, sums = torch.empty_like(tokens), weight.new_empty(2, programs, width, dtype=torch.float32)
        _backward_kernel[(programs,)](
            tokens, weight, gradients[0].contiguous(), of_tokens, sums, count, ctx.eps, width, columns, rows, SWEEPS
        )
        of_weight, of_bias = sums.sum(1)
        return of_tokens, of_weight.to(weight), of_bias.to(weight), None


def _sizes(tokens: Tensor) -> tuple[int, int, int, int]:
    """Tokens, their width, the power of two that holds it, and the tokens of one tile."""
    width = tokens.shape[-1]
    columns = triton.next_power_of_2(width)
    return tokens.numel() // width, width, columns, max(1, TILE // columns)


@triton.jit
def _forward_kernel(
    tokens, weight, bias, normed, count, eps, C: tl.constexpr, COLUMNS: tl.constexpr, ROWS: tl.constexpr
):
    row, column = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)[:, None], tl.arange(0, COLUMNS)[None, :]
    known = column < C
    place, inside = row * C + column, (row < count) & known
    value = tl.load(tokens + place, inside, 0.0).to(tl.float32)
    value = tl.where(known, value - (tl.sum(value, 1) / C)[:, None], 0.0)
    value *= tl.rsqrt(tl.sum(value * value, 1) / C + eps)[:, None]
    value = value * tl.load(weight + column, known, 0.0) + tl.load(bias + column, known, 0.0)
    tl.store(normed + place, value.to(normed.dtype.element_ty), inside)


@triton.jit
def _backward_kernel(
    tokens, weight, of_normed, of_tokens, sums, count, eps,
    C: tl.constexpr, COLUMNS: tl.constexpr, ROWS: tl.constexpr, SWEEPS: tl.constexpr,
):  # fmt: skip
    """Gradient by the tokens, and this program's share of those by weight and bias."""
    column = tl.arange(0, COLUMNS)[None, :]
    known = column < C
    times = tl.load(weight + column, known, 0.0).to(tl.float32)
    of_weight, of_bias = tl.zeros((ROWS, COLUMNS), tl.float32), tl.zeros((ROWS, COLUMNS), tl.float32)
    for sweep in range(SWEEPS):
        row = (tl.program_id(0).to(tl.int64) * SWEEPS + sweep) * ROWS + tl.arange(0, ROWS)[:, None]
        place, inside = row * C + column, (row < count) & known
        value = tl.load(tokens + place, inside, 0.0).to(tl.float32)
        gradient = tl.load(of_normed + place, inside, 0.0).to(tl.float32)
        value = tl.where(known, value - (tl.sum(value, 1) / C)[:, None], 0.0)
        inverse = tl.rsqrt(tl.sum(value * value, 1) / C + eps)[:, None]
        value *= inverse
        of_weight += gradient * value
        of_bias += gradient
        gradient *= times
        gradient -= (tl.sum(gradient, 1) / C)[:, None] + value * (tl.sum(gradient * value, 1) / C)[:, None]
        tl.store(of_tokens + place, (gradient * inverse).to(of_tokens.dtype.element_ty), inside)
    line = tl.arange(0, COLUMNS)
    place, known = sums + tl.program_id(0) * C + line, line < C
    tl.store(place, tl.sum(of_weight, 0), known)
    tl.store(place + tl.num_programs(0) * C, tl.sum(of_bias, 0), known)
