r"""Soft assignments: a matrix of scores made (almost) doubly stochastic by Sinkhorn's iterations.

The assignment is :math:`P_{ij} = r_i K_{ij} c_j` with the kernel :math:`K = \exp(S - m)`, m the largest score of each
row or the slack's. An iteration is two products of K with a vector, and so is its derivative.
"""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor
from torch.autograd.function import once_differentiable

ScoreMatrix = Float[Tensor, "*batch N M"]


def log_sinkhorn(scores: ScoreMatrix, iterations: int = 20, *, slack: bool = True) -> ScoreMatrix:
    """Logarithm of the soft assignment of rows to columns.

    With ``slack`` every row and every column may also go to a partner of score 0 that takes any number of them:
    sums are then at most 1, and a point without a partner need not have one. Without it rows and columns sum to 1
    in the limit, which needs as many rows as columns. Permuting rows or columns permutes the result. Differentiable,
    at the memory of a few vectors: no matrix of an iteration is kept.
    """
    rows, columns = _Potentials.apply(scores, iterations, slack)  # pyright: ignore[reportGeneralTypeIssues]
    return scores + rows.unsqueeze(-1) + columns.unsqueeze(-2)


class _Potentials(torch.autograd.Function):
    """Logarithms of the factors of rows and columns after some iterations, differentiated through every one of them.

    By S_ij, each update of a factor has the derivative -P_ij at the factors of that moment. So the derivative of all
    iterations is K times, entry by entry, a sum of outer products of vectors: one product of two thin matrices.
    """

    @staticmethod
    def forward(ctx, scores: Tensor, iterations: int, slack: bool) -> tuple[Tensor, Tensor]:
        kernel, highest = _kernel(scores, slack)
        spare = torch.exp(-highest) if slack else 0.0
        columns = torch.ones_like(scores[..., 0, :])
        rows_after, columns_after = [], [columns]
        for _ in range(iterations):
            rows = 1 / (_times(kernel, columns) + spare)
            columns = 1 / (_times(kernel.mT, rows) + float(slack))
            rows_after.append(rows)
            columns_after.append(columns)
        ctx.slack = slack
        ctx.save_for_backward(scores, torch.stack(rows_after), torch.stack(columns_after))
        return rows_after[-1].log() - highest, columns.log()

    @staticmethod
    @once_differentiable
    def backward(ctx, *gradients: Tensor) -> tuple[Tensor, None, None]:  # pyright: ignore
        scores, rows_after, columns_after = ctx.saved_tensors
        kernel, _ = _kernel(scores, ctx.slack)
        by_rows, by_columns = gradients
        of_rows, of_columns = [], []
        for k in reversed(range(len(rows_after))):
            rows, before, after = rows_after[k], columns_after[k], columns_after[k + 1]
            by_rows = by_rows - rows * _times(kernel, after * by_columns)
            of_rows += [rows, rows * by_rows]
            of_columns += [after * by_columns, before]
            by_columns = -before * _times(kernel.mT, rows * by_rows)
            by_rows = torch.zeros_like(by_rows)
        return -kernel * (torch.stack(of_rows, -1) @ torch.stack(of_columns, -2)), None, None


def _kernel(scores: Tensor, slack: bool) -> tuple[Tensor, Tensor]:
    """Exponentials of the scores, less the largest of each row (or the slack's 0), and these: none can overflow."""
    highest = scores.amax(-1)
    highest = highest.clamp_min(0) if slack else highest
    return (scores - highest.unsqueeze(-1)).exp(), highest


def _times(matrix: Tensor, vector: Tensor) -> Tensor:
    return (matrix @ vector.unsqueeze(-1)).squeeze(-1)
