"""Tools and machine parts."""

from __future__ import annotations

import math

import torch

from deepume.datasets.shapes.families.blueprint import ASYMMETRIC, REVOLUTION, Blueprint, Family
from deepume.datasets.shapes.meshes import Mesh, merge
from deepume.datasets.shapes.parameters import Draw, Number
from deepume.datasets.shapes.primitives import (
    Corner,
    Outline,
    arc,
    box,
    capsule,
    cylinder,
    extrude,
    extrude_ring,
    grid,
    lathe,
    polygon,
    tube,
)
from deepume.datasets.shapes.symmetry_groups import symmetric


def make_screw(draw: Draw) -> Blueprint:
    """Slotted head and a coarse single thread: the thread leaves no rotation."""
    core, depth, length = draw(0.12, 0.15), draw(0.1, 0.13), draw(1.2, 1.5)
    turns = draw.integer(4, 6)
    shaft = _thread(core, depth, length, turns)
    head = draw(0.35, 0.42)
    half = extrude(arc(head, 10, 170), 0.18).move(0, 0, length)
    floor = cylinder(head, 0.06).move(0, 0, length - 0.12)
    return shaft + half + half.turn(2, 180) + floor, ASYMMETRIC


def _thread(core: Number, depth: Number, length: Number, turns: int) -> Mesh:
    """Shaft with a triangular ridge that winds ``turns`` times around."""
    height = torch.linspace(0, length, 24 * turns + 1, dtype=torch.float64)[:, None]
    angle = torch.arange(48, dtype=torch.float64)[None, :] * (2 * math.pi / 48)
    phase = (height * turns / length - angle / (2 * math.pi)) % 1
    radius = core + depth * (1 - 2 * (phase - 0.5).abs())
    radius[0], radius[-1] = 0, 0
    points = torch.stack([radius * angle.cos(), radius * angle.sin(), height.expand_as(radius)], -1)
    return grid(points, closed_v=True)


def make_gear(draw: Draw) -> Blueprint:
    """Spur gear with a bore and a hub on one side."""
    teeth, root = draw.integer(7, 12), draw(0.75, 0.85)
    pitch = 360 / teeth
    outer = [c for k in range(teeth) for c in _tooth(k * pitch, pitch, root)]
    bore = draw(0.18, 0.28)
    inner = [(bore * x / math.hypot(x, y), bore * y / math.hypot(x, y)) for x, y in outer]
    hub = lathe([(bore, 0), (bore + 0.15, 0), (bore + 0.15, 0.35), (bore, 0.35)], closed=True)
    return extrude_ring(outer, inner, draw(0.2, 0.3)) + hub, symmetric(("z", teeth))


def _tooth(start_deg: Number, pitch: Number, root: Number) -> Outline:
    """Gap and tooth of one pitch."""
    corners = ((0.0, root), (0.45, root), (0.55, 1.0), (0.9, 1.0))
    turns = [(math.radians(start_deg + share * pitch), radius) for share, radius in corners]
    return [(radius * math.cos(turn), radius * math.sin(turn)) for turn, radius in turns]


def make_bracket(draw: Draw) -> Blueprint:
    """Angle bracket with unequal legs, a gusset and a pin."""
    foot, wall, width = draw(1.0, 1.3), draw(0.6, 0.8), draw(0.5, 0.7)
    leg = extrude([(0, 0), (foot, 0), (foot, 0.1), (0.1, 0.1), (0.1, wall), (0, wall)], width).turn(0, 90)
    size = draw(0.3, 0.4)
    gusset = extrude([(0.1, 0.1), (0.1 + 1.4 * size, 0.1), (0.1, 0.1 + size)], 0.08).turn(0, 90)
    pin = cylinder(draw(0.08, 0.12), 0.25).move(0.75 * foot, 0, 0.2)
    return leg + gusset + pin, ASYMMETRIC


def make_wrench(draw: Draw) -> Blueprint:
    """Open-ended wrench: two jaws of different size, both tilted, and a flat handle."""
    length, big, small = draw(1.4, 1.8), draw(0.26, 0.32), draw(0.16, 0.2)
    handle = box(length - big, 0.16, 0.08).move((big - small) / 4, 0, 0)
    left = _jaw(big).turn(2, 180 + draw(15, 25)).move(-length / 2, 0, 0)
    return handle + left + _jaw(small).turn(2, draw(15, 25)).move(length / 2, 0, 0), ASYMMETRIC


def _jaw(radius: Number) -> Mesh:
    """Round head with a slot open towards x."""
    gap, depth = 0.5 * radius, 0.35 * radius
    edge = math.degrees(math.asin(gap / radius))
    return extrude([*arc(radius, edge, 360 - edge, count=40), (-depth, -gap), (-depth, gap)], 0.14)


def make_spring(draw: Draw) -> Blueprint:
    """Helical spring; half a turn about the axis through its middle leaves it as it is."""
    turns, pitch = draw.integer(3, 6), draw(0.3, 0.4)
    angle = torch.linspace(-math.pi * turns, math.pi * turns, 48 * turns + 1, dtype=torch.float64)
    path = torch.stack([0.5 * angle.cos(), 0.5 * angle.sin(), pitch * angle / (2 * math.pi)], -1)
    return tube(path, draw(0.06, 0.1), up=(0, 0, 1)), symmetric(("x", 2))


def make_dumbbell(draw: Draw) -> Blueprint:
    """Two balls of different size on a bar."""
    length = draw(1.2, 1.6)
    big, small = draw(0.4, 0.5), draw(0.22, 0.3)
    balls = lathe(arc(big, -90, 90)) + lathe(arc(small, -90, 90, z=length))
    return balls + cylinder(draw(0.08, 0.12), length).move(0, 0, length / 2), REVOLUTION


def make_propeller(draw: Draw) -> Blueprint:
    """Hub with two to five twisted blades."""
    blades, pitch = draw.integer(2, 5), draw(25, 45)
    blade = extrude([(0.1, -0.1), (0.9, -draw(0.15, 0.25)), (1, 0), (0.9, 0.12), (0.1, 0.1)], 0.04).turn(0, pitch)
    hub = lathe([(0, -0.15), (0.18, -0.15), (0.18, 0.1), *arc(0.18, 0, 90, z=0.1, count=8)])
    return merge([hub, *(blade.turn(2, 360 * k / blades) for k in range(blades))]), symmetric(("z", blades))


def make_hammer(draw: Draw) -> Blueprint:
    """Claw hammer: a round face on one side, a bent claw on the other."""
    handle = capsule((0, 0, 0), (0, 0, draw(1.3, 1.6)), 0.08, 0.06)
    top = float(handle.vertices[:, 2].max()) - 0.1
    face = cylinder(draw(0.13, 0.17), 0.35).turn(1, 90).move(0.25, 0, top)
    drop = draw(0.2, 0.3)
    claw = extrude([(-0.55, -drop), (0.1, -0.1), (0.1, 0.1), (-0.25, 0.08), (-0.5, -0.8 * drop)], 0.18).turn(0, 90)
    return handle + face + claw.move(0, 0, top), ASYMMETRIC


def make_nut(draw: Draw) -> Blueprint:
    """Hexagonal nut with a round bore."""
    bore = draw(0.4, 0.6)
    outer = [c for k in range(6) for c in _edge(polygon(6, 1)[k], polygon(6, 1)[(k + 1) % 6], 8)]
    inner = [(bore * x / math.hypot(x, y), bore * y / math.hypot(x, y)) for x, y in outer]
    return extrude_ring(outer, inner, draw(0.5, 0.8)), symmetric(("z", 6), ("x", 2))


def _edge(start: Corner, stop: Corner, count: int) -> Outline:
    steps = [k / count for k in range(count)]
    return [(start[0] + s * (stop[0] - start[0]), start[1] + s * (stop[1] - start[1])) for s in steps]


FAMILIES: dict[str, Family] = {
    "screw": make_screw,
    "gear": make_gear,
    "bracket": make_bracket,
    "wrench": make_wrench,
    "spring": make_spring,
    "dumbbell": make_dumbbell,
    "propeller": make_propeller,
    "hammer": make_hammer,
    "nut": make_nut,
}
"""Families of this module by name."""
