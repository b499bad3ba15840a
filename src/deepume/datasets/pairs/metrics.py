"""Errors against the truth: ours, and the paper's as its code computes them. Each is one number for each pair.

A *metric* needs the truth; a :mod:`deepume.alignment.score` does not.
"""

from __future__ import annotations

import math

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from deepume.arrays import Array
from deepume.geometry.chamfer import chamfer_squared
from deepume.geometry.rotation import geodesic_angle
from deepume.transform import RigidTransform, Rotations, Source, Target

RIGHT_ANGLE_DEG = 10.0
"""A rotation within this of the truth is right."""
RIGHT_CHAMFER_RATIO = 1.1
"""So is a pose that fits the clouds as well as the truth does, to this ratio: symmetric shapes."""


def rotation_error_deg(estimate: RigidTransform, truth: RigidTransform) -> Float[Array, "*batch"]:
    """Angle of the rotation between estimate and truth, in degrees: the headline metric."""
    return geodesic_angle(estimate.rotation, truth.rotation) * (180 / math.pi)


def translation_rmse(estimate: RigidTransform, truth: RigidTransform) -> Float[Tensor, "*batch"]:
    """The paper's RMSE(t): root mean square over the three coordinates. Nearly free for centered clouds."""
    return (estimate.translation - truth.translation).square().mean(-1).sqrt()


def point_rmse(estimate: RigidTransform, truth: RigidTransform, source: Source) -> Float[Tensor, "*batch"]:
    """Root mean square distance between the source moved by the estimate and by the truth."""
    return (estimate.apply(source) - truth.apply(source)).square().sum(-1).mean(-1).sqrt()


def euler_errors_deg(estimate: RigidTransform, truth: RigidTransform) -> Float[Tensor, "*batch 3"]:
    """Differences of Euler angles in degrees, *not* wrapped at 180: what both papers' RMSE(R) are made of."""
    return torch.rad2deg(euler_angles(estimate.rotation) - euler_angles(truth.rotation))


def rmse_r_paper(estimate: RigidTransform, truth: RigidTransform) -> Float[Tensor, "*batch"]:
    """DeepUME's RMSE(R) of one pair; its tables print the *mean over pairs* of this value.

    The angles are those of a Z.Y.X decomposition although rotations are drawn as X.Y.Z products. The identity
    scores 82.4 under ``euler-full``, 83.1 under ``haar``, 70.9 under ``paper-code``; a true error of 1 degree reads
    about 1.7.
    """
    return euler_errors_deg(estimate, truth).square().mean(-1).sqrt()


def rmse_r_dcp(estimate: RigidTransform, truth: RigidTransform) -> Float[Tensor, ""]:
    """DCP's RMSE(R): root of the mean square over all pairs and angles at once."""
    return euler_errors_deg(estimate, truth).square().mean().sqrt()


def euler_angles(rotation: Rotations) -> Float[Tensor, "*batch 3"]:
    """Angles (z, y, x) in radians with ``R = Rz Ry Rx``; y in [-pi/2, pi/2]. In gimbal lock x is 0."""
    sine_y = (-rotation[..., 2, 0]).clamp(-1, 1)
    locked = sine_y.abs() >= 1 - torch.finfo(rotation.dtype).eps
    z = torch.atan2(rotation[..., 1, 0], rotation[..., 0, 0])
    x = torch.atan2(rotation[..., 2, 1], rotation[..., 2, 2])
    z = torch.where(locked, torch.atan2(-rotation[..., 0, 1], rotation[..., 1, 1]), z)
    return torch.stack([z, sine_y.asin(), torch.where(locked, 0, x)], -1)


def chamfer_ratio(
    estimate: RigidTransform, truth: RigidTransform, source: Source, target: Target
) -> Float[Tensor, "*batch"]:
    """Squared d_C at the estimate over that at the true pose: 1 is as good as the truth, sampling floor included."""
    floor = chamfer_squared(truth.apply(source), target)
    value = chamfer_squared(estimate.apply(source), target)
    # Without sampling noise the floor is zero, and so is the value of a right answer: rounding over rounding.
    rounding = 1e-12 * target.square().sum(-1).mean(-1)
    return (value + rounding) / (floor + rounding)


def is_right(estimate: RigidTransform, truth: RigidTransform, source: Source, target: Target) -> Bool[Tensor, "*batch"]:
    """Rotation within 10 degrees of the truth, or a fit as good as the truth's (an equivalent pose)."""
    close = rotation_error_deg(estimate, truth) <= RIGHT_ANGLE_DEG
    return close | (chamfer_ratio(estimate, truth, source, target) <= RIGHT_CHAMFER_RATIO)


def calibration_error(stated: Float[Tensor, "N"], right: Float[Tensor, "N"]) -> float:
    """Expected calibration error: gap between stated probability and frequency, over tenths of stated probability."""
    return float(calibration_gaps(stated, right).abs().sum() / len(stated))


def calibration_gaps(stated: Float[Tensor, "N"], right: Float[Tensor, "N"], bins: int = 10) -> Float[Tensor, "bins"]:
    """Stated probability less what came true, summed over the answers of each bin; gaps of several sets add up."""
    places = (stated * bins).long().clamp_max(bins - 1)
    return torch.zeros(bins, dtype=stated.dtype, device=stated.device).index_add_(0, places, stated - right)
