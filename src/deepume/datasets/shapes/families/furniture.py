"""Furniture and buildings, made of boards."""

from __future__ import annotations

from deepume.datasets.shapes.families.blueprint import ASYMMETRIC, Blueprint, Family
from deepume.datasets.shapes.meshes import merge
from deepume.datasets.shapes.parameters import Draw
from deepume.datasets.shapes.primitives import Outline, box, capsule, cylinder, extrude, lathe
from deepume.datasets.shapes.symmetry_groups import symmetric


def make_chair(draw: Draw) -> Blueprint:
    """Chair with a back of slats."""
    width, depth, height = draw(0.45, 0.55), draw(0.4, 0.5), draw(0.42, 0.5)
    seat = box(width, depth, 0.05).move(0, 0, height)
    leg = box(0.05, 0.05, height).move(0, 0, height / 2)
    places = [(x * (width - 0.05) / 2, y * (depth - 0.05) / 2) for x in (-1, 1) for y in (-1, 1)]
    rise, slats = draw(0.4, 0.6), draw.integer(2, 5)
    post = box(0.05, 0.05, rise).move((width - 0.05) / 2, (0.05 - depth) / 2, height + rise / 2)
    slat = box(width, 0.03, draw(0.05, 0.08)).move(0, (0.05 - depth) / 2, height)
    back = [slat.move(0, 0, rise * (k + 1) / slats - 0.03) for k in range(slats)]
    legs = [leg.move(x, y, 0) for x, y in places]
    return merge([seat, *legs, post, post.stretch(-1, 1, 1), *back]), ASYMMETRIC


def make_table(draw: Draw) -> Blueprint:
    """Rectangular table: half a turn leaves it as it is."""
    width, depth, height = draw(1.2, 1.7), draw(0.6, 0.85), draw(0.65, 0.75)
    leg = cylinder(0.05, height, 0.07) if draw(0, 1) < 0.5 else box(0.08, 0.08, height)
    places = [(x * (width / 2 - 0.1), y * (depth / 2 - 0.1)) for x in (-1, 1) for y in (-1, 1)]
    top = box(width, depth, 0.06).move(0, 0, height / 2)
    return merge([top, *(leg.move(x, y, 0) for x, y in places)]), symmetric(("z", 2))


def make_stool(draw: Draw) -> Blueprint:
    """Round stool with three to five splayed legs."""
    legs, radius, height = draw.integer(3, 5), draw(0.2, 0.26), draw(0.5, 0.75)
    seat = cylinder(radius, 0.06).move(0, 0, height)
    leg = capsule((0.6 * radius, 0, height), (radius + draw(0.02, 0.1), 0, 0), 0.03)
    return merge([seat, *(leg.turn(2, 360 * k / legs) for k in range(legs))]), symmetric(("z", legs))


def make_lamp(draw: Draw) -> Blueprint:
    """Desk lamp: base, two arms, a shade that hangs over."""
    elbow, head = (-draw(0.2, 0.35), 0.0, draw(0.5, 0.7)), (draw(0.3, 0.5), 0.0, draw(0.8, 1.0))
    arms = capsule((0, 0, 0.05), elbow, 0.025) + capsule(elbow, head, 0.025)
    size = draw(0.16, 0.22)
    shade = lathe([(0.05, 0.1), (size, -0.2), (size - 0.02, -0.2), (0.03, 0.08)], closed=True)
    tilted = shade.turn(1, -draw(10, 40)).move(*head)
    return cylinder(draw(0.2, 0.26), 0.05).move(0, 0, 0.025) + arms + tilted, ASYMMETRIC


def make_bookshelf(draw: Draw) -> Blueprint:
    """Shelf with a back, and books of random height that fill part of each board."""
    width, height, depth, boards = draw(0.7, 0.9), draw(1.3, 1.7), draw(0.25, 0.35), draw.integer(3, 5)
    side = box(0.04, depth, height).move(width / 2, 0, height / 2)
    parts = [side, side.move(-width, 0, 0), box(width, 0.02, height).move(0, depth / 2, height / 2)]
    gap = (height - 0.04) / boards
    parts += [box(width, depth, 0.04).move(0, 0, 0.02 + k * gap) for k in range(boards + 1)]
    for level in range(boards):
        x = 0.03 - width / 2
        for _ in range(draw.integer(3, 6)):
            thick, tall = draw(0.04, 0.08), gap * draw(0.5, 0.85)
            parts.append(box(thick, 0.7 * depth, tall).move(x + thick / 2, 0, 0.04 + level * gap + tall / 2))
            x += thick
    return merge(parts), ASYMMETRIC


def make_bed(draw: Draw) -> Blueprint:
    """Bed with a high head end, a low foot end and a pillow."""
    width, length = draw(0.9, 1.4), draw(1.9, 2.1)
    mattress = box(width, length, 0.25).move(0, 0, 0.4)
    high = box(width + 0.06, 0.06, draw(0.9, 1.1)).move(0, length / 2, 0.5)
    low = box(width + 0.06, 0.06, draw(0.55, 0.65)).move(0, -length / 2, 0.3)
    pillow = box(0.6 * width, 0.35, 0.12).move(0, length / 2 - 0.3, 0.58)
    return mattress + high + low + pillow, ASYMMETRIC


def make_house(draw: Draw) -> Blueprint:
    """House with a gable roof, a chimney and a porch."""
    width, length, wall = draw(0.8, 1.0), draw(1.2, 1.5), draw(0.5, 0.7)
    ridge = wall + draw(0.4, 0.6)
    half = width / 2
    gable: Outline = [(-half, 0), (half, 0), (half, wall), (0, ridge), (-half, wall)]
    body = extrude(gable, length).turn(0, 90)
    chimney = box(0.14, 0.14, 0.5).move(0.5 * half, 0.3 * length, ridge - 0.05)
    porch = box(0.35, 0.45, draw(0.3, 0.4)).move(half + 0.17, draw(-0.3, -0.1) * length, 0.18)
    return body + chimney + porch, ASYMMETRIC


def make_stairs(draw: Draw) -> Blueprint:
    """Flight of stairs with a railing on one side."""
    steps, run, rise, width = draw.integer(4, 7), draw(0.26, 0.32), draw(0.15, 0.2), draw(0.8, 1.0)
    outline: Outline = [(0, 0), (steps * run, 0), (steps * run, steps * rise)]
    for k in range(steps - 1, -1, -1):
        outline += [(k * run, (k + 1) * rise), (k * run, k * rise)]
    flight = extrude(outline[:-1], width).turn(0, 90)
    low, high = (
        (0.5 * run, width / 2 - 0.05, 0.7),
        (steps * run - 0.1, width / 2 - 0.05, 0.7 + (steps - 1) * rise),
    )
    posts = [capsule((x, y, z - 0.7), (x, y, z), 0.03) for x, y, z in (low, high)]
    return merge([flight, *posts, capsule(low, high, 0.03)]), ASYMMETRIC


def make_union(draw: Draw) -> Blueprint:
    """Boxes and cylinders stuck together at random, as in a machined part."""
    parts = [box(draw(0.8, 1.2), draw(0.5, 0.7), draw(0.2, 0.4))]
    for _ in range(draw.integer(4, 6)):
        block = box(draw(0.2, 0.6), draw(0.2, 0.5), draw(0.2, 0.6))
        part = block if draw(0, 1) < 0.5 else cylinder(draw(0.08, 0.25), draw(0.3, 0.8))
        parts.append(part.turn(draw.integer(0, 2), 90).move(draw(-0.5, 0.5), draw(-0.3, 0.3), draw(-0.1, 0.4)))
    return merge(parts), ASYMMETRIC


FAMILIES: dict[str, Family] = {
    "chair": make_chair,
    "table": make_table,
    "stool": make_stool,
    "lamp": make_lamp,
    "bookshelf": make_bookshelf,
    "bed": make_bed,
    "house": make_house,
    "stairs": make_stairs,
    "union": make_union,
}
"""Families of this module by name."""
