"""The edge layers of a DGCNN in half precision, without the edges ever being stored (inference)."""

from __future__ import annotations

import triton
import triton.language as tl
from jaxtyping import Float, Int
from torch import Tensor

ROWS = 64
"""Points of one program; their edges are worked on neighbor by neighbor."""
Affine = tuple[Float[Tensor, "O I"], Float[Tensor, " O"]]


def pool_edges(
    of_neighbor: Float[Tensor, "P A"],
    of_center: Float[Tensor, "P A"],
    graph: Int[Tensor, "P k"],
    later: list[Affine],
) -> Float[Tensor, "P C"]:
    """Maxima over the edges of each point after each of four layers, side by side.

    The first layer comes as its products with neighbor and center, in half precision, which decides the precision of
    the others; three follow. Widths are powers of two, and at least 16.
    """
    widths = [of_neighbor.shape[-1], *(len(bias) for _, bias in later)]
    pooled = of_neighbor.new_empty(len(graph), sum(widths))
    columns = [weight.to(of_neighbor).mT.contiguous() for weight, _ in later]
    biases = [bias.float().contiguous() for _, bias in later]
    inputs = (of_neighbor.contiguous(), of_center.contiguous(), graph.contiguous())
    _pool_kernel[(triton.cdiv(len(graph), ROWS),)](
        *inputs, *columns, *biases, pooled, len(graph), graph.shape[-1], *widths, ROWS=ROWS, num_warps=8, num_stages=1
    )
    return pooled


@triton.jit
def _pool_kernel(
    of_neighbor, of_center, graph, second, third, fourth, second_bias, third_bias, fourth_bias, pooled, count, k,
    A: tl.constexpr, B: tl.constexpr, C: tl.constexpr, D: tl.constexpr, ROWS: tl.constexpr,
):  # fmt: skip
    """One neighbor of every point at a time, through all layers, keeping the largest values so far."""
    row = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    inside = row < count
    a, b, c, d = tl.arange(0, A), tl.arange(0, B), tl.arange(0, C), tl.arange(0, D)
    center = tl.load(of_center + row[:, None] * A + a[None, :], inside[:, None], 0.0).to(tl.float32)
    to_b, to_c = tl.load(second + a[:, None] * B + b[None, :]), tl.load(third + b[:, None] * C + c[None, :])
    to_d = tl.load(fourth + c[:, None] * D + d[None, :])
    plus_b, plus_c = tl.load(second_bias + b)[None, :], tl.load(third_bias + c)[None, :]
    most_a, most_b = tl.zeros((ROWS, A), tl.float32), tl.zeros((ROWS, B), tl.float32)
    most_c, most_d = tl.zeros((ROWS, C), tl.float32), tl.full((ROWS, D), float("-inf"), tl.float32)
    for j in range(k):
        neighbor = tl.load(graph + row * k + j, inside, 0)
        start = tl.load(of_neighbor + neighbor[:, None] * A + a[None, :]).to(tl.float32)
        edge = tl.maximum(start + center, 0.0)
        most_a = tl.maximum(most_a, edge)
        edge = tl.maximum(tl.dot(edge.to(to_b.dtype), to_b) + plus_b, 0.0)
        most_b = tl.maximum(most_b, edge)
        edge = tl.maximum(tl.dot(edge.to(to_c.dtype), to_c) + plus_c, 0.0)
        most_c = tl.maximum(most_c, edge)
        most_d = tl.maximum(most_d, tl.dot(edge.to(to_d.dtype), to_d))
    most_d = tl.maximum(most_d + tl.load(fourth_bias + d)[None, :], 0.0)
    place, shown = pooled + row[:, None] * (A + B + C + D), inside[:, None]
    tl.store(place + a[None, :], most_a.to(pooled.dtype.element_ty), shown)
    tl.store(place + A + b[None, :], most_b.to(pooled.dtype.element_ty), shown)
    tl.store(place + A + B + c[None, :], most_c.to(pooled.dtype.element_ty), shown)
    tl.store(place + A + B + C + d[None, :], most_d.to(pooled.dtype.element_ty), shown)
