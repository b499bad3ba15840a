"""Things of the household, most of them turned on a lathe."""

from __future__ import annotations

import math

import torch

from deepume.datasets.shapes.families.blueprint import ASYMMETRIC, REVOLUTION, Blueprint, Family
from deepume.datasets.shapes.meshes import Mesh
from deepume.datasets.shapes.parameters import Draw, Number
from deepume.datasets.shapes.primitives import (
    Outline,
    arc,
    capsule,
    cylinder,
    ellipsoid,
    extrude,
    extrude_ring,
    lathe,
    polygon,
    smooth_profile,
    spline,
    tube,
)
from deepume.datasets.shapes.symmetry_groups import symmetric


def make_mug(draw: Draw) -> Blueprint:
    """Mug with a handle."""
    radius, height, wall = draw(0.35, 0.45), draw(0.8, 1.1), 0.05
    outside: Outline = [(0, 0), (radius, 0), (radius, height)]
    inside: Outline = [(radius - wall, height), (radius - wall, wall), (0, wall)]
    handle = _handle(radius - 0.02, draw(0.2, 0.3), draw(0.25, 0.35) * height, draw(0.05, 0.07))
    return lathe(outside + inside) + handle.move(0, 0, height * draw(0.45, 0.6)), ASYMMETRIC


def make_bottle(draw: Draw) -> Blueprint:
    """Bottle with shoulder and neck."""
    radius, neck, shoulder = draw(0.25, 0.4), draw(0.08, 0.12), draw(0.8, 1.1)
    top = shoulder + draw(0.3, 0.5)
    bend = smooth_profile([(radius, shoulder), (0.7 * radius, shoulder + 0.15), (neck, shoulder + 0.3)], 16)
    cap: Outline = [(neck, top), (neck + 0.03, top), (neck + 0.03, top + 0.08), (0, top + 0.08)]
    return lathe([(0, 0), (radius, 0), *bend, *cap]), REVOLUTION


def make_vase(draw: Draw) -> Blueprint:
    """Open vase with a smooth belly, a waist and a lip."""
    foot, belly, waist, lip = draw(0.2, 0.3), draw(0.45, 0.6), draw(0.15, 0.25), draw(0.25, 0.4)
    outside = smooth_profile([(foot, 0), (belly, draw(0.4, 0.6)), (waist, 1.1), (lip, draw(1.3, 1.5))])
    inside = [(max(radius - 0.04, 0.0), height) for radius, height in reversed(outside[4:])]
    return lathe([(0, 0), *outside, *inside, (0, inside[-1][1])]), REVOLUTION


def make_teapot(draw: Draw) -> Blueprint:
    """Round body, lid with a knob, spout on one side, handle on the other."""
    belly, height = draw(0.5, 0.6), draw(0.6, 0.8)
    knots: Outline = [(0.6 * belly, 0), (belly, 0.4 * height), (0.5 * belly, height), (0.06, 1.15 * height)]
    body = lathe([(0, 0), *smooth_profile(knots), (0, 1.15 * height)])
    knob = ellipsoid(0.09, 0.09, 0.08).move(0, 0, 1.22 * height)
    reach = belly + draw(0.35, 0.5)
    bends = [[0.7 * belly, 0, 0.3 * height], [belly + 0.18, 0, 0.45 * height], [reach, 0, height]]
    path = spline(torch.tensor(bends, dtype=torch.float64), 24)
    spout = tube(path, torch.linspace(0.14, 0.06, 24, dtype=torch.float64), up=(0, 1, 0))
    handle = _handle(0.85 * belly, draw(0.3, 0.4), 0.4 * height, 0.05).turn(2, 180).move(0, 0, 0.5 * height)
    return body + knob + spout + handle, ASYMMETRIC


def make_pot(draw: Draw) -> Blueprint:
    """Cooking pot with a lid, a knob and two handles that face each other."""
    radius, height = draw(0.5, 0.6), draw(0.4, 0.6)
    lid = [(radius, height), (0.5 * radius, height + 0.1), (0, height + 0.14)]
    knob = cylinder(0.08, 0.12).move(0, 0, height + 0.18)
    handle = _handle(radius - 0.02, draw(0.15, 0.25), 0.18, 0.04).turn(0, 90).move(0, 0, 0.8 * height)
    return lathe([(0, 0), (radius, 0), *lid]) + knob + handle + handle.turn(2, 180), symmetric(("z", 2))


def make_key(draw: Draw) -> Blueprint:
    """Key: a ring, a shaft and a bit with teeth of random length."""
    ring = extrude_ring(polygon(32, 0.28), polygon(32, draw(0.13, 0.18)), 0.08).move(-0.26, 0, 0)
    length = draw(0.8, 1.1)
    teeth, x = [], 0.55 * length
    while x < length - 0.05:
        width, depth = draw(0.06, 0.1), draw(0.08, 0.28)
        teeth += [(x, -0.06), (x, -depth), (x + width, -depth), (x + width, -0.06)]
        x += width + 0.03
    blade = extrude([(0, -0.06), *teeth, (x + 0.05, -0.06), (x + 0.1, 0.06), (0, 0.06)], 0.05)
    return ring + blade, ASYMMETRIC


def make_spoon(draw: Draw) -> Blueprint:
    """Spoon: a hollow bowl and a bent handle."""
    bowl = lathe([*arc(1, -90, 0), *arc(0.9, 0, -90)]).stretch(draw(0.28, 0.34), draw(0.18, 0.22), draw(0.12, 0.18))
    length, lift = draw(1.0, 1.4), draw(0.15, 0.3)
    elbow = (0.6 * length, 0.0, lift)
    handle = capsule((0.24, 0, 0), elbow, 0.035) + capsule(elbow, (length, 0, 0.8 * lift), 0.035, 0.07)
    return bowl + handle, ASYMMETRIC


def _handle(start: Number, reach: Number, half_height: Number, thickness: Number) -> Mesh:
    """Half ring in the plane of x and z, standing on x = start."""
    angle = torch.linspace(-math.pi / 2, math.pi / 2, 32, dtype=torch.float64)
    path = torch.stack([start + reach * angle.cos(), torch.zeros_like(angle), half_height * angle.sin()], -1)
    return tube(path, thickness, up=(0, 1, 0))


FAMILIES: dict[str, Family] = {
    "mug": make_mug,
    "bottle": make_bottle,
    "vase": make_vase,
    "teapot": make_teapot,
    "pot": make_pot,
    "key": make_key,
    "spoon": make_spoon,
}
"""Families of this module by name."""
