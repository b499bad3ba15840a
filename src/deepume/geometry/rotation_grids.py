"""Candidate rotations: principal frames in every admissible pairing, grids over SO(3), and their deduplication."""

from __future__ import annotations

from functools import cache
from itertools import permutations, product

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from deepume.geometry.frames import Frame
from deepume.geometry.rotation import geodesic_angle
from deepume.transform import RigidTransform, Vectors, motion_between, rotation_about_axis, rotation_from_quaternion

ALIKE = 0.25
"""Variances that differ by less than this part have axes that sampling can exchange or turn."""
SWEEP_STEPS = 16
"""Angles of a sweep: no more than 11 degrees from any."""
Candidates = Float[Tensor, "*batch K 3 3"]


@cache
@torch.inference_mode(False)
def sign_changes() -> Float[Tensor, "4 3 3"]:
    """The four proper sign patterns of three axes: the identity and the three half turns."""
    return axis_exchanges()[[_is_diagonal(matrix) for matrix in axis_exchanges()]]


@cache
@torch.inference_mode(False)
def axis_exchanges() -> Float[Tensor, "24 3 3"]:
    """All proper permutations and sign changes of three axes: the rotation group of the cube, identity first."""
    matrices = signed_permutations()
    proper = matrices[torch.linalg.det(matrices) > 0]
    by_angle = torch.argsort(-proper.diagonal(dim1=-2, dim2=-1).sum(-1), dim=-1, stable=True)
    return proper[by_angle]


def paper_sign_changes() -> Float[Tensor, "8 3 3"]:
    """The paper's eight sign patterns, four of them *reflections*; for its reproduction only.

    On a body with a mirror plane a reflected frame can win, and no rotation recovers from that.
    """
    patterns = torch.tensor(list(product((1.0, -1.0), repeat=3)), dtype=torch.float64)
    return torch.diag_embed(patterns)


def signed_permutations() -> Float[Tensor, "48 3 3"]:
    """All permutations and sign changes of three axes, proper or not."""
    rows = torch.eye(3, dtype=torch.float64)
    ordered = torch.stack([rows[list(order)] for order in permutations(range(3))])
    return (paper_sign_changes()[:, None] @ ordered[None]).flatten(0, 1)


def _is_diagonal(matrix: Tensor) -> bool:
    return bool(matrix.diagonal().abs().sum() == 3)


def frame_rotations(source: Frame, target: Frame, exchanges: Float[Tensor, "K 3 3"]) -> Candidates:
    """Rotations that carry the source's frame to the target's, up to each exchange of axes: ``A_t E A_s^T``."""
    return target.axes.unsqueeze(-3) @ exchanges.to(source.axes) @ source.axes.mT.unsqueeze(-3)


def frame_poses(source: Frame, target: Frame, exchanges: Float[Tensor, "K 3 3"]) -> RigidTransform:
    """Poses ``(*batch, K)`` that carry the source's frame, origin included, to the target's."""
    return poses_about(frame_rotations(source, target, exchanges), source.centroid, target.centroid)


def poses_about(rotations: Candidates, source_origin: Vectors, target_origin: Vectors) -> RigidTransform:
    """Poses with the given rotations that carry one origin to the other: ``t = o_t - R o_s``."""
    return motion_between(source_origin.unsqueeze(-2), target_origin.unsqueeze(-2), rotations)


def axis_sweep(source: Frame, target: Frame, steps: int = SWEEP_STEPS) -> Float[Tensor, "K 3 3"]:
    """Turns about every axis whose two companions have nearly equal variances in both frames, either way up.

    A solid of revolution, or one nearly so, leaves the angle about its axis to its details; K = 0 for others.
    """
    gaps = torch.maximum(source.eigenvalue_gaps(), target.eigenvalue_gaps())
    axes = [axis for axis, gap in ((2, gaps[0]), (0, gaps[1])) if float(gap) < ALIKE]
    angles = torch.arange(1, steps, dtype=torch.float64) * (2 * torch.pi / steps)
    flip = {2: rotation_about_axis(0, torch.tensor(torch.pi)), 0: rotation_about_axis(1, torch.tensor(torch.pi))}
    turns = [
        torch.cat([turn, turn @ flip[axis].to(turn)]) for axis in axes for turn in [rotation_about_axis(axis, angles)]
    ]
    return torch.cat([*turns, torch.zeros(0, 3, 3, dtype=torch.float64)])


@cache
@torch.inference_mode(False)
def rotation_grid(count: int) -> Float[Tensor, "K 3 3"]:
    """``count`` rotations that cover SO(3) evenly: super-Fibonacci spirals (Alexa 2022) on the unit quaternions.

    Turned as a whole so that the identity is the first: laid between two frames, the grid contains their own pairing.
    """
    first, second = 2**0.5, 1.533751168755204288118041  # the two winding numbers of the spiral
    step = torch.arange(count, dtype=torch.float64) + 0.5
    inner, outer = (step / count).sqrt(), (1 - step / count).sqrt()
    alpha, beta = 2 * torch.pi * step / first, 2 * torch.pi * step / second
    spiral = [inner * alpha.sin(), inner * alpha.cos(), outer * beta.sin(), outer * beta.cos()]
    rotations = rotation_from_quaternion(torch.stack(spiral, -1))
    return rotations[0].mT @ rotations


def distinct_mask(rotations: Candidates, scores: Float[Tensor, "*batch K"], angle: float) -> Bool[Tensor, "*batch K"]:
    """True for candidates that no better-scored distinct one lies within ``angle`` radians of.

    Greedy, best first; the best candidate is always kept. Loops over the candidates, not over the batch.
    """
    order = scores.argsort(dim=-1, stable=True)
    ordered = torch.take_along_dim(rotations, order[..., None, None], dim=-3)
    close = geodesic_angle(ordered.unsqueeze(-3), ordered.unsqueeze(-4)) < angle
    keep = torch.ones_like(order, dtype=torch.bool)
    for k in range(1, order.shape[-1]):
        keep[..., k] = ~(close[..., k, :k] & keep[..., :k]).any(-1)
    return torch.zeros_like(keep).scatter(-1, order, keep)
