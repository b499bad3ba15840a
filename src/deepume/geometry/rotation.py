"""Rotations from paired vectors (orthogonal Procrustes), angles between them, and whether they are determined."""

from __future__ import annotations

import numpy as np
from jaxtyping import Bool, Float

from deepume.arrays import Array, namespace, smallest_number
from deepume.transform import RigidTransform, Rotations, rotation_angle


def solve_rotation(
    source: Float[Array, "*batch K 3"],
    target: Float[Array, "*batch K 3"],
    weights: Float[Array, "*batch K"] | None = None,
) -> Rotations:
    """Proper rotation R that minimizes ``|target - source @ R.mT|`` over paired rows (Horn, Kabsch).

    Rotating the target by Q gives ``Q @ R``; swapping the two gives the inverse. Where the rows leave the rotation
    undetermined (:func:`rotation_is_determined`) one of the minimizers is returned, with a bounded gradient.
    """
    return nearest_rotation(correlation(source, target, weights))


def solve_motion(
    source: Float[Array, "*batch K 3"],
    target: Float[Array, "*batch K 3"],
    weights: Float[Array, "*batch K"] | None = None,
    *,
    allow_scale: bool = False,
) -> RigidTransform:
    """Rigid motion (with ``allow_scale``, a similarity: Umeyama) that brings paired points closest, least squares."""
    share = namespace(source).ones_like(source[..., 0]) if weights is None else weights
    share = share / share.sum(-1)[..., None]
    source_mean, target_mean = _mean(source, share), _mean(target, share)
    offsets, images = source - source_mean[..., None, :], target - target_mean[..., None, :]
    matrix = correlation(offsets, images, share)
    rotation = nearest_rotation(matrix)
    if not allow_scale:
        moved = (rotation @ source_mean[..., None]).squeeze(-1)
        return RigidTransform(rotation, target_mean - moved)
    spread = (share * (offsets * offsets).sum(-1)).sum(-1)
    scale = (rotation * matrix).sum((-2, -1)) / namespace(source).clip(spread, min=smallest_number(source))
    moved = scale[..., None] * (rotation @ source_mean[..., None]).squeeze(-1)
    return RigidTransform(rotation, target_mean - moved, scale)


def middle_pose(first: RigidTransform, second: RigidTransform) -> RigidTransform:
    """Halfway between two poses, such that the inverses meet in the inverse: translations as both clouds see them."""
    rotation = nearest_rotation(first.rotation + second.rotation)
    seen_by_target = (first.translation + second.translation) / 2
    seen_by_source = -(first.inverse().translation + second.inverse().translation) / 2
    carried = (rotation @ seen_by_source[..., None]).squeeze(-1)
    return RigidTransform(rotation, (seen_by_target + carried) / 2)


def _mean(points: Float[Array, "*batch K 3"], share: Float[Array, "*batch K"]) -> Float[Array, "*batch 3"]:
    return (share[..., None, :] @ points).squeeze(-2)


def correlation(
    source: Float[Array, "*batch K 3"],
    target: Float[Array, "*batch K 3"],
    weights: Float[Array, "*batch K"] | None = None,
) -> Float[Array, "*batch 3 3"]:
    """``H = sum of target_k source_k^T``: the rotation nearest to H solves Procrustes."""
    weighted = target if weights is None else weights[..., None] * target
    return weighted.mT @ source


def nearest_rotation(matrix: Float[Array, "*batch 3 3"]) -> Rotations:
    """Proper rotation R that maximizes ``trace(R.mT @ matrix)``, with a backward pass that stays finite."""
    if not isinstance(matrix, np.ndarray):
        from deepume.geometry.procrustes_gradient import NearestRotation

        return NearestRotation.apply(matrix)
    u, _, vh = np.linalg.svd(matrix)
    signs = np.ones(matrix.shape[:-1], matrix.dtype)
    signs[..., -1] = np.sign(np.linalg.det(u @ vh))
    return (u * signs[..., None, :]) @ vh


def rotation_is_determined(matrix: Float[Array, "*batch 3 3"], tolerance: float = 1e-6) -> Bool[Array, "*batch"]:
    """True where only one rotation is nearest to ``matrix``: s_2 + d s_3 above ``tolerance`` times s_1.

    False for moments of rank below 2 (all parallel), and for a reflection of equal singular values.
    """
    xp = namespace(matrix)
    u, s, vh = xp.linalg.svd(matrix)
    gap = s[..., 1] + xp.sign(xp.linalg.det(u @ vh)) * s[..., 2]
    return gap > tolerance * xp.clip(s[..., 0], min=smallest_number(s))


def geodesic_angle(first: Float[Array, "*#batch 3 3"], second: Float[Array, "*#batch 3 3"]) -> Float[Array, "*batch"]:
    """Angle in radians of the rotation between two rotations, accurate at 0 and at 180 degrees."""
    return rotation_angle(first.mT @ second)
