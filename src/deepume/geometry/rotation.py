"""Rotations from paired vectors (orthogonal Procrustes), angles between them, and whether they are determined."""

from __future__ import annotations

import torch
from jaxtyping import Bool, Float
from torch import Tensor
from torch.autograd.function import once_differentiable

from deepume.transform import RigidTransform, Rotations, rotation_angle

GAP_FLOOR = 1e-6
"""Singular values that pair up closer than this, relative to the largest, are held apart in the backward pass."""


def solve_rotation(
    source: Float[Tensor, "*batch K 3"],
    target: Float[Tensor, "*batch K 3"],
    weights: Float[Tensor, "*batch K"] | None = None,
) -> Rotations:
    """Proper rotation R that minimizes ``|target - source @ R.mT|`` over paired rows (Horn, Kabsch).

    Rotating the target by Q gives ``Q @ R``; swapping the two gives the inverse. Where the rows leave the rotation
    undetermined (:func:`rotation_is_determined`) one of the minimizers is returned, with a bounded gradient.
    """
    return nearest_rotation(correlation(source, target, weights))


def solve_motion(
    source: Float[Tensor, "*batch K 3"],
    target: Float[Tensor, "*batch K 3"],
    weights: Float[Tensor, "*batch K"] | None = None,
    *,
    allow_scale: bool = False,
) -> RigidTransform:
    """Rigid motion (with ``allow_scale``, a similarity: Umeyama) that brings paired points closest, least squares."""
    share = torch.ones_like(source[..., 0]) if weights is None else weights
    share = share / share.sum(-1, keepdim=True)
    source_mean, target_mean = _mean(source, share), _mean(target, share)
    offsets, images = source - source_mean.unsqueeze(-2), target - target_mean.unsqueeze(-2)
    matrix = correlation(offsets, images, share)
    rotation = nearest_rotation(matrix)
    if not allow_scale:
        moved = (rotation @ source_mean.unsqueeze(-1)).squeeze(-1)
        return RigidTransform(rotation, target_mean - moved)
    spread = (share * offsets.square().sum(-1)).sum(-1).clamp_min(torch.finfo(source.dtype).tiny)
    scale = (rotation * matrix).sum((-2, -1)) / spread
    moved = scale.unsqueeze(-1) * (rotation @ source_mean.unsqueeze(-1)).squeeze(-1)
    return RigidTransform(rotation, target_mean - moved, scale)


def middle_pose(first: RigidTransform, second: RigidTransform) -> RigidTransform:
    """Halfway between two poses, such that the inverses meet in the inverse: translations as both clouds see them."""
    rotation = nearest_rotation(first.rotation + second.rotation)
    seen_by_target = (first.translation + second.translation) / 2
    seen_by_source = -(first.inverse().translation + second.inverse().translation) / 2
    carried = (rotation @ seen_by_source.unsqueeze(-1)).squeeze(-1)
    return RigidTransform(rotation, (seen_by_target + carried) / 2)


def _mean(points: Float[Tensor, "*batch K 3"], share: Float[Tensor, "*batch K"]) -> Float[Tensor, "*batch 3"]:
    return (share.unsqueeze(-2) @ points).squeeze(-2)


def correlation(
    source: Float[Tensor, "*batch K 3"],
    target: Float[Tensor, "*batch K 3"],
    weights: Float[Tensor, "*batch K"] | None = None,
) -> Float[Tensor, "*batch 3 3"]:
    """``H = sum of target_k source_k^T``: the rotation nearest to H solves Procrustes."""
    weighted = target if weights is None else weights.unsqueeze(-1) * target
    return weighted.mT @ source


def nearest_rotation(matrix: Float[Tensor, "*batch 3 3"]) -> Rotations:
    """Proper rotation R that maximizes ``trace(R.mT @ matrix)``, with a backward pass that stays finite."""
    return _NearestRotation.apply(matrix)  # pyright: ignore[reportReturnType]


class _NearestRotation(torch.autograd.Function):
    r"""R = U D V^T for H = U S V^T, D = diag(1, 1, det(U V^T)).

    With k_i = d_i s_i and G the gradient by R, C = D U^T G V, the gradient by H is
    U D [(C - C^T) / (k_i + k_j)] V^T. Unlike a pass through U and V it has no 1 / (s_i - s_j): it is finite unless
    the rotation itself is undetermined, and bounded there by GAP_FLOOR.
    """

    @staticmethod
    def forward(ctx, matrix: Tensor) -> Tensor:
        u, s, vh = torch.linalg.svd(matrix)
        signs = torch.ones_like(s)
        signs[..., -1] = torch.linalg.det(u @ vh).sign()
        ctx.save_for_backward(u, s, vh, signs)
        return (u * signs.unsqueeze(-2)) @ vh

    @staticmethod
    @once_differentiable
    def backward(ctx, *gradients: Tensor) -> Tensor:  # pyright: ignore[reportIncompatibleMethodOverride]
        u, s, vh, signs = ctx.saved_tensors
        signed = signs * s
        # The root of the least number still has an inverse with room above it: a matrix of zeros passes, too.
        floor = (GAP_FLOOR * s[..., :1]).clamp_min(torch.finfo(s.dtype).tiny ** 0.5).unsqueeze(-1)
        sums = torch.maximum(signed.unsqueeze(-1) + signed.unsqueeze(-2), floor)
        turned = signs.unsqueeze(-1) * (u.mT @ gradients[0] @ vh.mT)
        return (u * signs.unsqueeze(-2)) @ ((turned - turned.mT) / sums) @ vh


def rotation_is_determined(matrix: Float[Tensor, "*batch 3 3"], tolerance: float = 1e-6) -> Bool[Tensor, "*batch"]:
    """True where only one rotation is nearest to ``matrix``: s_2 + d s_3 above ``tolerance`` times s_1.

    False for moments of rank below 2 (all parallel), and for a reflection of equal singular values.
    """
    u, s, vh = torch.linalg.svd(matrix)
    gap = s[..., 1] + torch.linalg.det(u @ vh).sign() * s[..., 2]
    return gap > tolerance * s[..., 0].clamp_min(torch.finfo(s.dtype).tiny)


def geodesic_angle(
    first: Float[Tensor, "*#batch 3 3"], second: Float[Tensor, "*#batch 3 3"]
) -> Float[Tensor, "*batch"]:
    """Angle in radians of the rotation between two rotations, accurate at 0 and at 180 degrees."""
    return rotation_angle(first.mT @ second)
