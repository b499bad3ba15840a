"""Plain solids: every kind of rotation symmetry, exactly."""

from __future__ import annotations

import math

import torch

from deepume.datasets.shapes.families.blueprint import REVOLUTION, Blueprint, Family
from deepume.datasets.shapes.meshes import Mesh
from deepume.datasets.shapes.parameters import Draw, Number
from deepume.datasets.shapes.primitives import (
    SEGMENTS,
    box,
    cylinder,
    ellipsoid,
    extrude,
    grid,
    lathe,
    polygon,
    star,
    torus,
    tube,
)
from deepume.datasets.shapes.symmetry_groups import SymmetryGroup, symmetric

_TWO_FOLD = symmetric(("x", 2), ("y", 2), ("z", 2))
_DOUBLE_CONE = symmetric(("z", 0), ("x", 2))


def make_box(draw: Draw) -> Blueprint:
    """Box with three clearly different sides."""
    return box(1, draw(0.6, 0.8), draw(0.25, 0.45)), _TWO_FOLD


def make_cube(draw: Draw) -> Blueprint:
    """Cube: nothing to draw."""
    return box(1, 1, 1), symmetric(("x", 4), ("z", 4))


def make_cylinder(draw: Draw) -> Blueprint:
    """Cylinder, never as high as wide."""
    return cylinder(draw(0.25, 0.4), draw(1.0, 1.6)), _DOUBLE_CONE


def make_cone(draw: Draw) -> Blueprint:
    """Cone or stump of a cone."""
    return cylinder(draw(0.4, 0.7), draw(0.9, 1.5), draw(0, 0.2)), REVOLUTION


def make_sphere(draw: Draw) -> Blueprint:
    """Sphere: nothing to draw."""
    return ellipsoid(1, 1, 1), symmetric(("x", 0), ("z", 0))


def make_ellipsoid(draw: Draw) -> Blueprint:
    """Ellipsoid with three clearly different axes."""
    return ellipsoid(1, draw(0.6, 0.8), draw(0.3, 0.45)), _TWO_FOLD


def make_torus(draw: Draw) -> Blueprint:
    """Torus, thin or thick."""
    return torus(1, draw(0.15, 0.45)), _DOUBLE_CONE


def make_prism(draw: Draw) -> Blueprint:
    """Prism over a regular polygon; four corners would be a box."""
    corners = (3, 5, 6, 7)[draw.integer(0, 3)]
    mesh = extrude(polygon(corners, draw(0.4, 0.8)), draw(1.2, 1.8))
    return mesh, symmetric(("z", corners), ("x", 2))


def make_pyramid(draw: Draw) -> Blueprint:
    """Pyramid over a square."""
    side, height = draw(0.8, 1.0), draw(1.0, 1.5)
    return lathe([(0, 0), (side, 0), (0, height)], segments=4), symmetric(("z", 4))


def make_star(draw: Draw) -> Blueprint:
    """Flat star of four to eight points."""
    points = draw.integer(4, 8)
    return extrude(star(points, 1, draw(0.4, 0.6)), draw(0.2, 0.4)), symmetric(("z", points), ("x", 2))


def make_tetrahedron(draw: Draw) -> Blueprint:
    """Regular tetrahedron: nothing to draw."""
    vertices = torch.tensor([[1, 1, 1], [1, -1, -1], [-1, 1, -1], [-1, -1, 1]], dtype=torch.float64)
    faces = torch.tensor([[0, 1, 2], [0, 3, 1], [0, 2, 3], [1, 3, 2]])
    axes = torch.stack([vertices[0] / math.sqrt(3), torch.eye(3, dtype=torch.float64)[2]])
    return Mesh(vertices, faces), SymmetryGroup(axes, (3, 2))


def make_superquadric(draw: Draw) -> Blueprint:
    """Superquadric between a box, a ball and an octahedron, with three different axes."""
    e, w = draw(0.3, 1.6), draw(0.3, 1.6)
    latitude = torch.linspace(-math.pi / 2, math.pi / 2, SEGMENTS + 1, dtype=torch.float64)[:, None]
    longitude = torch.arange(2 * SEGMENTS, dtype=torch.float64)[None, :] * (math.pi / SEGMENTS)
    ring = _power(latitude.cos(), e)
    x, y = ring * _power(longitude.cos(), w), ring * _power(longitude.sin(), w)
    points = torch.stack([x, y, _power(latitude.sin(), e).expand_as(x)], -1)
    return grid(points, closed_v=True).stretch(1, draw(0.6, 0.8), draw(0.3, 0.45)), _TWO_FOLD


def make_knot(draw: Draw) -> Blueprint:
    """Torus knot that winds twice around: a trefoil, or one with five lobes."""
    lobes = 3 + 2 * draw.integer(0, 1)
    angle = torch.arange(480, dtype=torch.float64) * (2 * math.pi / 480)
    ring = 2 + (lobes * angle).cos()
    path = torch.stack([ring * (2 * angle).cos(), ring * (2 * angle).sin(), -(lobes * angle).sin()], -1)
    mesh = tube(path, draw(0.25, 0.4), up=(0, 0, 1), closed=True)
    return mesh, symmetric(("z", lobes), ("x", 2))


def _power(value: torch.Tensor, exponent: Number) -> torch.Tensor:
    return value.sign() * value.abs() ** exponent


FAMILIES: dict[str, Family] = {
    "box": make_box,
    "cube": make_cube,
    "cylinder": make_cylinder,
    "cone": make_cone,
    "sphere": make_sphere,
    "ellipsoid": make_ellipsoid,
    "torus": make_torus,
    "prism": make_prism,
    "pyramid": make_pyramid,
    "star": make_star,
    "tetrahedron": make_tetrahedron,
    "superquadric": make_superquadric,
    "knot": make_knot,
}
"""Families of this module by name."""
