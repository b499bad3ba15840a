"""Rotations to try: a grid over SO(3), and a sweep about an axis of revolution."""

from __future__ import annotations

from functools import cache

import torch
from jaxtyping import Float
from torch import Tensor

from deepume.geometry.frames import Frame, revolution_axes
from deepume.transform import rotation_about_axis, rotation_from_quaternion


def axis_sweep(source: Frame, target: Frame, *, alike: float, steps: int) -> Float[Tensor, "K 3 3"]:
    """``steps`` turns about every axis of near revolution (:func:`revolution_axes`), either way up; K = 0 without one.

    A solid of revolution, or one nearly so, leaves the angle about its axis to its details.
    """
    axes = revolution_axes(source, target, alike=alike)
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
