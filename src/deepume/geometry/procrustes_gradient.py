"""The nearest rotation for networks: the same formula in torch, with a backward pass that stays finite."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

GAP_FLOOR = 1e-6
"""Singular values that pair up closer than this, relative to the largest, are held apart in the backward pass."""


class NearestRotation(torch.autograd.Function):
    r"""R = U D V^T for H = U S V^T, D = diag(1, 1, det(U V^T)).

    With k_i = d_i s_i and G the gradient by R, C = D U^T G V, the gradient by H is
    U D [(C - C^T) / (k_i + k_j)] V^T. Unlike a pass through U and V it has no 1 / (s_i - s_j): it is finite unless
    the rotation itself is undetermined, and bounded there by GAP_FLOOR.
    """

    @staticmethod
    def forward(ctx, matrix: Tensor) -> Tensor:
        """The rotation nearest to H."""
        u, s, vh = torch.linalg.svd(matrix)
        signs = torch.ones_like(s)
        signs[..., -1] = torch.linalg.det(u @ vh).sign()
        ctx.save_for_backward(u, s, vh, signs)
        return (u * signs.unsqueeze(-2)) @ vh

    @staticmethod
    @once_differentiable
    def backward(ctx, *gradients: Tensor) -> Tensor:  # pyright: ignore[reportIncompatibleMethodOverride]
        """The gradient by H."""
        u, s, vh, signs = ctx.saved_tensors
        signed = signs * s
        # The root of the least number still has an inverse with room above it: a matrix of zeros passes, too.
        floor = (GAP_FLOOR * s[..., :1]).clamp_min(torch.finfo(s.dtype).tiny ** 0.5).unsqueeze(-1)
        sums = torch.maximum(signed.unsqueeze(-1) + signed.unsqueeze(-2), floor)
        turned = signs.unsqueeze(-1) * (u.mT @ gradients[0] @ vh.mT)
        return (u * signs.unsqueeze(-2)) @ ((turned - turned.mT) / sums) @ vh
