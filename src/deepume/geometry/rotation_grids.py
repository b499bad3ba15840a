"""Rotations to try: a grid over SO(3), and a sweep about an axis of revolution."""

from __future__ import annotations

from functools import cache

import numpy as np
from jaxtyping import Float

from deepume.geometry.frames import Frame, revolution_axes
from deepume.transform import rotation_about_axis, rotation_from_quaternion


def axis_sweep(source: Frame, target: Frame, *, alike: float, steps: int) -> Float[np.ndarray, "K 3 3"]:
    """``steps`` turns about every axis of near revolution (:func:`revolution_axes`), either way up; K = 0 without one.

    A solid of revolution, or one nearly so, leaves the angle about its axis to its details.
    """
    axes = revolution_axes(source, target, alike=alike)
    angles = np.arange(1, steps) * (2 * np.pi / steps)
    half_turn = np.asarray(np.pi)
    flip = {2: rotation_about_axis(0, half_turn), 0: rotation_about_axis(1, half_turn)}
    turns = [np.concat([turn, turn @ flip[axis]]) for axis in axes for turn in [rotation_about_axis(axis, angles)]]
    return np.concat([*turns, np.zeros((0, 3, 3))])


@cache
def rotation_grid(count: int) -> Float[np.ndarray, "K 3 3"]:
    """``count`` rotations that cover SO(3) evenly: super-Fibonacci spirals (Alexa 2022) on the unit quaternions.

    Turned as a whole so that the identity is the first: laid between two frames, the grid contains their own pairing.
    """
    first, second = 2**0.5, 1.533751168755204288118041  # the two winding numbers of the spiral
    step = np.arange(count) + 0.5
    inner, outer = np.sqrt(step / count), np.sqrt(1 - step / count)
    alpha, beta = 2 * np.pi * step / first, 2 * np.pi * step / second
    spiral = [inner * np.sin(alpha), inner * np.cos(alpha), outer * np.sin(beta), outer * np.cos(beta)]
    rotations = rotation_from_quaternion(np.stack(spiral, -1))
    return rotations[0].mT @ rotations
