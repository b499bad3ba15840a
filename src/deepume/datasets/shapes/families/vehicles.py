"""Vehicles: mirror-symmetric, but no rotation leaves them as they are (except the rocket)."""

from __future__ import annotations

from deepume.datasets.shapes.families.blueprint import ASYMMETRIC, Blueprint, Family
from deepume.datasets.shapes.meshes import Mesh, merge
from deepume.datasets.shapes.parameters import Draw, Number
from deepume.datasets.shapes.primitives import Outline, box, capsule, cylinder, extrude, lathe, smooth_profile
from deepume.datasets.shapes.symmetry_groups import symmetric


def make_airplane(draw: Draw) -> Blueprint:
    """Fuselage along x, swept wings, tail and engines."""
    radius = draw(0.09, 0.13)
    fuselage = lathe([*smooth_profile([(0, 0), (radius, 0.2), (radius, 1.4), (0.3 * radius, 2.0)]), (0, 2)])
    span, sweep, chord = draw(0.8, 1.1), draw(0.2, 0.5), draw(0.3, 0.45)
    wings = _wings(span, sweep, chord, 0.04).move(0.75, 0, -0.3 * radius)
    tail = _wings(0.35 * span, 0.2, 0.22, 0.03).move(1.7, 0, 0.02)
    fin = extrude([(0, 0), (0.26, 0), (0.36, 0.38), (0.22, 0.38)], 0.03).turn(0, 90).move(1.68, 0, 0.03)
    engine = capsule((0, 0, 0), (0.2, 0, 0), 0.06).move(0.72 + 0.35 * sweep, 0.45 * span, -0.12)
    return merge([fuselage.turn(1, 90), wings, tail, fin, engine, engine.stretch(1, -1, 1)]), ASYMMETRIC


def _wings(span: Number, sweep: Number, chord: Number, thickness: Number) -> Mesh:
    """Both wings in one piece, swept towards larger x."""
    right: Outline = [(chord, 0), (sweep + 0.4 * chord, span), (sweep, span)]
    left = [(x, -y) for x, y in reversed(right[1:])]
    return extrude([(0, 0), *left, *right], thickness)


def make_car(draw: Draw) -> Blueprint:
    """Hood, cabin, trunk and four wheels, driving towards x."""
    length, width, hood = draw(1.8, 2.2), draw(0.75, 0.9), draw(0.4, 0.6)
    roof = draw(0.6, 0.75)
    front, rear = length / 2, -length / 2
    side: Outline = [
        (rear, 0.12), (front, 0.12), (front, 0.32), (front - hood, 0.38),
        (front - hood - 0.25, roof), (rear + 0.4, roof), (rear + 0.12, 0.42), (rear, 0.4),
    ]  # fmt: skip
    body = extrude(side, width).turn(0, 90)
    wheel = cylinder(draw(0.15, 0.19), 0.14).turn(0, 90)
    places = [(x, y) for x in (rear + 0.4, front - 0.4) for y in (-width / 2, width / 2)]
    return merge([body, *(wheel.move(x, y, 0.14) for x, y in places)]), ASYMMETRIC


def make_rocket(draw: Draw) -> Blueprint:
    """Rocket with three to five fins."""
    fins, radius, length = draw.integer(3, 5), draw(0.15, 0.2), draw(1.2, 1.6)
    nose = [(radius * (1 - (step / 12) ** 2), length + 0.45 * step / 12) for step in range(13)]
    body = lathe([(0, 0.1), (0.7 * radius, 0), (radius, 0.15), *nose])
    reach = radius + draw(0.25, 0.4)
    fin = extrude([(0.5 * radius, 0.1), (reach, -0.1), (reach, 0.15), (radius, 0.5)], 0.04).turn(0, 90)
    return merge([body, *(fin.turn(2, 360 * k / fins) for k in range(fins))]), symmetric(("z", fins))


def make_boat(draw: Draw) -> Blueprint:
    """Hull with a pointed bow, a cabin and a mast with a boom."""
    length, beam, depth = draw(1.6, 2.0), draw(0.28, 0.36), draw(0.25, 0.35)
    side: Outline = [(-length / 2, -beam), (0.1, -beam), (0.35 * length, -0.6 * beam), (length / 2, 0)]
    hull = extrude([*side, *((x, -y) for x, y in reversed(side[:-1]))], depth)
    below = hull.vertices[:, 2:] < 0
    narrow = hull.vertices * hull.vertices.new_tensor([0.85, 0.6, 1])
    hull = Mesh(hull.vertices.where(~below, narrow), hull.faces)
    cabin = box(0.4 * length, 1.2 * beam, 0.22).move(-0.2 * length, 0, depth / 2 + 0.11)
    mast = capsule((0.15, 0, 0), (0.15, 0, draw(1.0, 1.4)), 0.03)
    boom = capsule((0.15, 0, 0.45), (-0.45 * length, 0, 0.5), 0.025)
    return hull + cabin + mast + boom, ASYMMETRIC


FAMILIES: dict[str, Family] = {
    "airplane": make_airplane,
    "car": make_car,
    "rocket": make_rocket,
    "boat": make_boat,
}
"""Families of this module by name."""
