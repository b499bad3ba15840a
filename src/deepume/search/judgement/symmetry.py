"""Rotation symmetry of the object, from the poses that fit equally well: axes and orders, and what they explain."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from deepume.alignment.gicp import GicpSettings
from deepume.alignment.indexed_pair import PreparedPair
from deepume.alignment.score import EXACT_SCORE
from deepume.geometry.rotation import geodesic_angle
from deepume.geometry.rotation_grids import ALIKE
from deepume.result import Symmetry
from deepume.search.candidates import refine_whole
from deepume.transform import RigidTransform, rotation_angle, rotation_from_vector

TRIAL_GICP = GicpSettings(iterations=5, tolerance=1e-3, two_sided=False)
"""A turn of the best pose about an axis of symmetry has little left to move."""
ORDERS = (8, 7, 6, 5, 4, 3, 2)
"""Finite orders that are looked for, largest first: order 6 contains 3 and 2."""
ODD_ANGLES_DEG = (17.0, 37.0, 101.0, 163.0)
"""Turns that no small finite order explains: where all of them fit, the symmetry is continuous."""
SAME_AXIS_DEG = 15.0
STAYS_DEG = 8.0
"""A turned pose that refinement moves farther than this did not fit where it was."""
MOST_AXES = 13
"""Axes of the cube, the most that are looked at."""
ROUGHLY = 1.6
"""Turned poses that fit worse than this, compared with the best one, are not worth refining."""
TOLERANCE = 1.25
"""A turn fits when it worsens the score by at most this many times what chance can do."""


def find_symmetry(
    pair: PreparedPair, poses: RigidTransform, scores: Float[Tensor, "K"], *, trials: bool = True
) -> Symmetry:
    """Axes through the target's centroid about which the object can be turned unnoticed, most symmetric first.

    Candidates are the axes of the turns between the best pose and its equals and, with ``trials``, principal axes whose
    companions have nearly equal variances. What the points cannot tell from a symmetry is called one. Without trials
    only the turns between the poses at hand are looked at.
    """
    equals = scores <= scores[0] * (1 + TOLERANCE * pair.chance) + EXACT_SCORE
    turns = poses.rotation[equals] @ poses.rotation[0].mT
    axes = _turn_axes(turns)
    axes = _distinct_axes(torch.cat([axes, _likely_axes(pair)]) if trials else axes)
    orders = [_order_about(pair, poses[0], axis, turns, trials) for axis in axes]
    kept = sorted((k for k, order in enumerate(orders) if order != 1), key=lambda k: (orders[k] != 0, -orders[k]))
    kept = _without_sweeps(axes, orders, kept)
    return Symmetry(axes[kept].reshape(-1, 3), tuple(orders[k] for k in kept))


def explains(
    symmetry: Symmetry, turns: Float[Tensor, "*batch 3 3"], tolerance_deg: float = SAME_AXIS_DEG
) -> Bool[Tensor, "*batch"]:
    """True where a rotation of the object is, nearly, one that its symmetry axes allow, or two of them in turn."""
    if symmetry.orders.count(0) > 1:
        return torch.ones(turns.shape[:-2], dtype=torch.bool)
    allowed = [_allowed_turns(axis, order) for axis, order in zip(symmetry.axes, symmetry.orders, strict=True)]
    allowed = torch.cat([torch.eye(3, dtype=torch.float64)[None], *allowed])
    twice = (allowed.unsqueeze(0) @ allowed.unsqueeze(1)).flatten(0, 1)
    near = torch.rad2deg(geodesic_angle(turns.unsqueeze(-3), twice)).amin(-1) < tolerance_deg
    if 0 in symmetry.orders and len(symmetry.orders) > 1:
        axis = symmetry.axes[symmetry.orders.index(0)]
        near |= (turns @ axis) @ axis < -0.95  # upside down, and then any angle will do
    return near


def _allowed_turns(axis: Float[Tensor, "3"], order: int) -> Float[Tensor, "K 3 3"]:
    steps = order or 36
    angles = torch.arange(1, steps, dtype=torch.float64) * (2 * torch.pi / steps)
    return rotation_from_vector(angles.unsqueeze(-1) * axis)


def _turn_axes(turns: Float[Tensor, "K 3 3"]) -> Float[Tensor, "A 3"]:
    """Axes of rotations: the direction that each leaves alone (of the symmetric part: good at 180 degrees, too)."""
    turns = turns[torch.rad2deg(rotation_angle(turns)) > SAME_AXIS_DEG]
    return torch.linalg.eigh((turns + turns.mT) / 2).eigenvectors[..., -1]


def _likely_axes(pair: PreparedPair) -> Float[Tensor, "A 3"]:
    """Principal axes of the target about which the variances are alike."""
    gaps = torch.maximum(pair.source.frame.eigenvalue_gaps(), pair.target.frame.eigenvalue_gaps())
    chosen = [axis for axis, gap in ((2, gaps[0]), (0, gaps[1])) if float(gap) < ALIKE]
    return pair.target.frame.axes.mT[chosen].reshape(-1, 3)


def _distinct_axes(axes: Float[Tensor, "K 3"]) -> Float[Tensor, "A 3"]:
    kept: list[Tensor] = []
    limit = torch.cos(torch.deg2rad(torch.tensor(SAME_AXIS_DEG, dtype=torch.float64)))
    for axis in axes:
        if len(kept) < MOST_AXES and all(float((axis @ other).abs()) < float(limit) for other in kept):
            kept.append(axis)
    return torch.stack(kept) if kept else axes[:0]


def _order_about(
    pair: PreparedPair, pose: RigidTransform, axis: Float[Tensor, "3"], known: Float[Tensor, "K 3 3"], trials: bool
) -> int:
    """Order of the symmetry about an axis: 0 continuous, 1 none. Turns that are ``known`` to fit need no trial."""
    odd = _which_fit(pair, pose, axis, ODD_ANGLES_DEG, known, trials)
    if sum(odd) >= len(odd) - 1:  # one may fail by chance
        return 0
    parts = sorted({m / order for order in ORDERS for m in range(1, order // 2 + 1)})
    fits = dict(zip(parts, _which_fit(pair, pose, axis, [360 * part for part in parts], known, trials), strict=True))
    return next((order for order in ORDERS if all(fits[m / order] for m in range(1, order // 2 + 1))), 1)


def _which_fit(
    pair: PreparedPair,
    pose: RigidTransform,
    axis: Float[Tensor, "3"],
    angles_deg: Sequence[float],
    known: Float[Tensor, "K 3 3"],
    trials: bool,
) -> list[bool]:
    """Which turns about an axis are known to fit or, on trial, do."""
    angles = torch.deg2rad(torch.tensor(angles_deg, dtype=torch.float64))
    turns = rotation_from_vector(angles.unsqueeze(-1) * axis)
    both_ways = torch.cat([known, known.mT])
    seen = torch.rad2deg(geodesic_angle(turns.unsqueeze(1), both_ways)).amin(-1) < STAYS_DEG
    if trials:
        seen = seen.masked_scatter(~seen, _turns_fit(pair, pose, turns[~seen]))
    return seen.tolist()


def _turns_fit(pair: PreparedPair, pose: RigidTransform, turns: Float[Tensor, "K 3 3"]) -> Bool[Tensor, "K"]:
    """Which turned poses fit as well as the pose does, and stay where they are when refined.

    Few points tell which are not worth refining.
    """
    starts = RigidTransform(turns, torch.zeros(len(turns), 3, dtype=torch.float64)) @ pose[None]
    best = pair.score(pose[None])
    fits = pair.score(starts, asking=pair.quick) <= ROUGHLY * best + EXACT_SCORE
    if not bool(fits.any()):
        return fits
    starts = starts[fits]
    refined = pair.gicp(starts, TRIAL_GICP) if pair.dense else refine_whole(pair, starts)
    stayed = torch.rad2deg(geodesic_angle(refined.rotation, starts.rotation)) < STAYS_DEG
    as_well = pair.score(refined) <= best * (1 + TOLERANCE * pair.chance) + EXACT_SCORE
    return fits.masked_scatter(fits, stayed & as_well)


def _without_sweeps(axes: Float[Tensor, "A 3"], orders: list[int], kept: list[int]) -> list[int]:
    """Of the many half-turn axes across an axis of revolution, one is named."""
    continuous = [k for k in kept if orders[k] == 0]
    if len(continuous) == 0:
        return kept
    if len(continuous) > 1:
        return continuous[:2]
    across = [k for k in kept if orders[k] and float((axes[k] @ axes[continuous[0]]).abs()) < 0.3]
    return continuous + across[:1]
