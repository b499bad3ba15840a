r"""Soft assignments: a matrix of scores made (almost) doubly stochastic by Sinkhorn's iterations, in the log domain.

The iterations act on two vectors of potentials, f for the rows and g for the columns; the assignment is
:math:`P_{ij} = \exp(S_{ij} + f_i + g_j)`.
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
    """Potentials after some iterations, differentiated through every one of them.

    ``f = -log sum_j exp(S_ij + g_j)`` has the derivative -P_ij by S_ij and by g_j, with P at the f just found. P is
    made again from S and the stored potentials of each iteration, which are vectors.
    """

    @staticmethod
    def forward(ctx, scores: Tensor, iterations: int, slack: bool) -> tuple[Tensor, Tensor]:
        columns = torch.zeros_like(scores[..., 0, :])
        rows_after, columns_after = [], [columns]
        for _ in range(iterations):
            rows_after.append(_normalizer(scores + columns.unsqueeze(-2), -1, slack))
            columns = _normalizer(scores + rows_after[-1].unsqueeze(-1), -2, slack)
            columns_after.append(columns)
        ctx.save_for_backward(scores, torch.stack(rows_after), torch.stack(columns_after))
        return rows_after[-1], columns

    @staticmethod
    @once_differentiable
    def backward(ctx, *gradients: Tensor) -> tuple[Tensor, None, None]:  # pyright: ignore
        scores, rows_after, columns_after = ctx.saved_tensors
        by_rows, by_columns = gradients
        by_scores = torch.zeros_like(scores)
        for k in reversed(range(len(rows_after))):
            half_way = scores + rows_after[k].unsqueeze(-1)
            by_each = (half_way + columns_after[k + 1].unsqueeze(-2)).exp_().mul_(by_columns.unsqueeze(-2))
            by_scores -= by_each
            by_rows = by_rows - by_each.sum(-1)
            by_each = (half_way + columns_after[k].unsqueeze(-2)).exp_().mul_(by_rows.unsqueeze(-1))
            by_scores -= by_each
            by_rows, by_columns = torch.zeros_like(by_rows), -by_each.sum(-2)
        return by_scores, None, None


def _normalizer(scores: Tensor, axis: int, slack: bool) -> Tensor:
    """What must be added to each line along ``axis`` so that its exponentials, and the slack's, sum to 1."""
    total = scores.logsumexp(axis)
    return -(torch.logaddexp(total, torch.zeros_like(total)) if slack else total)
