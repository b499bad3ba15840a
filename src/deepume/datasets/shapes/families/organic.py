"""Living things: limbs as capsules in poses without symmetry."""

from __future__ import annotations

import math

import torch

from deepume.datasets.shapes.families.blueprint import ASYMMETRIC, Blueprint, Family
from deepume.datasets.shapes.meshes import Mesh, merge
from deepume.datasets.shapes.parameters import Draw, Number
from deepume.datasets.shapes.primitives import Place, arc, capsule, ellipsoid, extrude, lathe, smooth_profile


def make_body(draw: Draw) -> Blueprint:
    """A person in a pose: one arm up, one out, one leg forward."""
    hips, neck = (0.0, 0.0, 0.9), (0.0, 0.0, 1.45)
    trunk = capsule(hips, (0, 0, 1.35), draw(0.14, 0.17), draw(0.17, 0.2)).stretch(0.75, 1, 1)
    head = ellipsoid(0.11, 0.09, 0.13).move(draw(0.02, 0.05), 0, 1.65)
    arms = [_limb((0, 0.22, 1.38), draw(-40, 0), 90, 0.3, 0.06, draw(60, 90), draw)]
    arms += [_limb((0, -0.22, 1.38), draw(-100, -60), -90, 0.3, 0.06, draw(-30, 30), draw)]
    legs = [_limb((0, 0.1, 0.9), -draw(70, 90), 90, 0.44, 0.085, -draw(70, 90), draw)]
    legs += [_limb((0, -0.1, 0.9), -draw(40, 60), 0, 0.44, 0.085, -draw(80, 100), draw)]
    return merge([trunk, capsule(neck, (0.02, 0, 1.6), 0.06), head, *arms, *legs]), ASYMMETRIC


def _limb(
    start: Place, rise: Number, heading: Number, length: Number, radius: Number, bend: Number, draw: Draw
) -> Mesh:
    """Two capsules and a hand or foot; ``rise`` and ``bend``: angles of its halves over the horizon."""
    middle = _step(start, rise, heading, length)
    end = _step(middle, bend, heading, length * draw(0.9, 1.0))
    tip = _step(end, 0.6 * bend, heading + draw(-30, 30), 0.35 * length)
    upper, lower = (
        capsule(start, middle, radius, 0.8 * radius),
        capsule(middle, end, 0.8 * radius, 0.6 * radius),
    )
    return upper + lower + capsule(end, tip, 0.6 * radius, 0.5 * radius)


def _step(start: Place, rise: Number, heading: Number, length: Number) -> Place:
    up, turn = math.radians(rise), math.radians(heading)
    flat = length * math.cos(up)
    return (
        start[0] + flat * math.cos(turn),
        start[1] + flat * math.sin(turn),
        start[2] + length * math.sin(up),
    )


def make_hand(draw: Draw) -> Blueprint:
    """A hand: palm, four fingers, each bent differently, and a thumb."""
    palm = ellipsoid(0.16, 0.36, 0.42)
    fingers = []
    for place, size in ((-0.25, 0.26), (-0.09, 0.32), (0.08, 0.34), (0.24, 0.25)):
        root = (0.0, place, 0.33)
        middle = _step(root, 90 - draw(-10, 25), 0, size)
        end = _step(middle, 90 - draw(10, 70), 0, 0.8 * size)
        fingers += [capsule(root, middle, 0.085, 0.075), capsule(middle, end, 0.075, 0.06)]
    joint = (0.08, 0.5, 0.0)
    thumb = capsule((0.0, 0.22, -0.2), joint, 0.12, 0.09) + capsule(joint, (0.2, 0.62, draw(0.15, 0.3)), 0.09, 0.07)
    wrist = capsule((0, 0, -0.3), (0, 0, -0.75), 0.2, 0.18).stretch(0.75, 1, 1)
    return merge([palm, wrist, thumb, *fingers]), ASYMMETRIC


def make_quadruped(draw: Draw) -> Blueprint:
    """A walking animal with its head turned and its tail up."""
    length, height, radius = draw(0.9, 1.2), draw(0.6, 0.8), draw(0.2, 0.26)
    trunk = capsule((0, 0, height), (length, 0, height + 0.05), radius, 1.1 * radius)
    parts = [trunk]
    for x, y, swing in ((0, 1, 20), (0, -1, -25), (length, 1, -15), (length, -1, 25)):
        knee = _step((x, 0.6 * y * radius, height), -90 + swing, 0, 0.5 * height)
        parts += [capsule((x, 0.6 * y * radius, height), knee, 0.11, 0.08)]
        parts += [capsule(knee, _step(knee, -90 - 0.6 * swing, 0, 0.5 * height), 0.08, 0.06)]
    heading = draw(15, 40)
    crown = _step((length, 0, height + 0.05), draw(40, 60), heading, draw(0.4, 0.6))
    parts += [capsule((length, 0, height + 0.05), crown, 0.15, 0.11)]
    parts += [capsule(crown, _step(crown, -15, heading, 0.3), 0.15, 0.08)]
    for side in (60, -60):
        parts += [capsule(crown, _step(crown, 70, heading + side, 0.25), 0.06, 0.03)]
    tail = _step((0, 0, height), draw(20, 50), 180 + draw(-30, 30), draw(0.3, 0.6))
    return merge([*parts, capsule((0, 0, height), tail, 0.07, 0.04)]), ASYMMETRIC


def make_fish(draw: Draw) -> Blueprint:
    """A fish: deep flat body, forked tail, back and belly fins."""
    height = draw(0.3, 0.42)
    profile = smooth_profile([(0, 0), (0.8, 0.35), (0.9, 0.8), (0.15, 1.7)])
    body = lathe([*profile, (0, 1.7)]).turn(1, 90).stretch(1, 0.45 * height, height)
    tail = extrude([(1.6, 0), (2.1, -0.4), (1.95, 0), (2.15, draw(0.45, 0.6))], 0.04).turn(0, 90)
    back = extrude([(0.5, 0.8 * height), (1.2, 0.6 * height), (1.3, 0.8 * height), (0.9, height + 0.3)], 0.04)
    belly = extrude([(0.9, -0.7 * height), (1.0, -height - 0.15), (1.15, -0.6 * height)], 0.04)
    return body + tail + back.turn(0, 90) + belly.turn(0, 90), ASYMMETRIC


def make_tree(draw: Draw) -> Blueprint:
    """A trunk with branches in all directions, each with a crown of leaves."""
    height = draw(0.7, 0.9)
    parts, heading = [capsule((0, 0, 0), (0, 0, height), 0.12, 0.07)], draw(0, 360)
    for _ in range(draw.integer(4, 6)):
        heading += draw(80, 150)
        start = (0.0, 0.0, height * draw(0.6, 1.0))
        tip = _step(start, draw(20, 65), heading, draw(0.35, 0.7))
        size = draw(0.16, 0.3)
        parts += [capsule(start, tip, 0.05, 0.03), ellipsoid(size, size, 0.8 * size).move(*tip)]
    return merge(parts), ASYMMETRIC


def make_blob(draw: Draw) -> Blueprint:
    """A ball with random bumps and dents."""
    ball = lathe(arc(1, -90, 90, count=48))
    radius = torch.ones(len(ball.vertices), 1, dtype=torch.float64)
    for _ in range(6):
        place = ball.vertices.new_tensor([draw(-1, 1), draw(-1, 1), draw(-1, 1)])
        away = (ball.vertices - place / place.norm()).square().sum(-1, keepdim=True)
        radius = radius + draw(-0.35, 0.6) * torch.exp(-away / draw(0.15, 0.5))
    return Mesh(ball.vertices * radius, ball.faces), ASYMMETRIC


FAMILIES: dict[str, Family] = {
    "body": make_body,
    "hand": make_hand,
    "quadruped": make_quadruped,
    "fish": make_fish,
    "tree": make_tree,
    "blob": make_blob,
}
"""Families of this module by name."""
