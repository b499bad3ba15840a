"""Poses from which the network is trained to go on: the kinds of hypotheses it will meet.

The truth decides where a start lies, as it decides how a pair is made. It is not a label: no loss compares an
estimate with it.
"""

from __future__ import annotations

import math
from functools import cache
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from deepume.geometry.frames import axis_exchanges, frame_rotations, principal_frame, sign_changes
from deepume.geometry.neighbors import full_precision
from deepume.geometry.rotation import geodesic_angle
from deepume.training.pairs.pair_maker import Pairs
from deepume.transform import Rotations, random_rotation, rotation_from_quaternion

REACH = math.radians(75)
"""The loss leaves out a start that is farther than this from every correct alignment."""
NEAREST_FRAME, NEAR_TRUTH, ANY_FRAME = 0.40, 0.20, 0.25
"""Shares of the kinds of starts; the rest is uniform over SO(3)."""


class Starts(NamedTuple):
    """One start for each pair."""

    rotation: Rotations
    """``target_from_source`` of the start; its translation brings the centroids together."""
    is_near: Bool[Tensor, "*batch"]
    """True within REACH of a correct alignment: the true pose or an equivalent one of a symmetric shape."""


def draw_starts(pairs: Pairs, *, generator: torch.Generator) -> Starts:
    """40 % the best of the four frames, 20 % within 75 degrees of the truth, 25 % any of 24 frames, 15 % random."""
    with full_precision(pairs.source), torch.no_grad():
        rotation = _draw_rotations(pairs, generator=generator)
        return Starts(rotation, alignment_angle(rotation.unsqueeze(-3), pairs).squeeze(-1) <= REACH)


def _draw_rotations(pairs: Pairs, *, generator: torch.Generator) -> Rotations:
    source, target = principal_frame(pairs.source), principal_frame(pairs.target)
    four, all_frames = _exchanges(pairs.source.device)
    by_sign = frame_rotations(source, target, four)
    nearest = _pick(by_sign, alignment_angle(by_sign, pairs).argmin(-1))
    count, device = len(pairs), pairs.source.device
    any_frame = frame_rotations(source, target, all_frames)
    any_frame = _pick(any_frame, torch.randint(24, (count,), generator=generator, device=device))
    near_truth = _draw_turn(count, generator=generator) @ pairs.rotation
    kind = torch.rand(count, 1, 1, generator=generator, device=device)
    chosen = random_rotation(count, generator=generator, dtype=torch.float32)
    chosen = torch.where(kind < NEAREST_FRAME + NEAR_TRUTH + ANY_FRAME, any_frame, chosen)
    chosen = torch.where(kind < NEAREST_FRAME + NEAR_TRUTH, near_truth, chosen)
    return torch.where(kind < NEAREST_FRAME, nearest, chosen)


def alignment_angle(rotations: Float[Tensor, "B K 3 3"], pairs: Pairs) -> Float[Tensor, "B K"]:
    """Angle in radians to the nearest correct alignment, the shape's symmetry counted in."""
    angles = geodesic_angle(rotations.unsqueeze(-3), pairs.equivalents.unsqueeze(-4))
    return angles.masked_fill(~pairs.is_equivalent.unsqueeze(-2), torch.inf).amin(-1)


def _draw_turn(count: int, *, generator: torch.Generator) -> Rotations:
    """Rotations about uniform axes by angles uniform in [0, REACH], by quaternions: a matrix exponential is slow."""
    axis = torch.randn(count, 3, generator=generator, device=generator.device)
    half = REACH / 2 * torch.rand(count, 1, generator=generator, device=generator.device)
    return rotation_from_quaternion(torch.cat([half.cos(), half.sin() * axis / axis.norm(dim=-1, keepdim=True)], -1))


def draw_sign_changes(count: int, *, generator: torch.Generator, dtype: torch.dtype = torch.float32) -> Rotations:
    """One of the four proper sign patterns for each pair: no sign of a source frame may be special."""
    four, _ = _exchanges(generator.device)
    return four[torch.randint(4, (count,), generator=generator, device=generator.device)].to(dtype)


def _pick(candidates: Float[Tensor, "B K 3 3"], choice: Tensor) -> Rotations:
    return torch.take_along_dim(candidates, choice[:, None, None, None], dim=-3).squeeze(-3)


@cache
def _exchanges(device: torch.device) -> tuple[Float[Tensor, "4 3 3"], Float[Tensor, "24 3 3"]]:
    four, all_frames = (torch.from_numpy(each()).float().to(device) for each in (sign_changes, axis_exchanges))
    return four, all_frames
