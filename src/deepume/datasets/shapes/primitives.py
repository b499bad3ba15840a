"""Building blocks of the procedural shapes: grids, lathes, tubes and extrusions, all closed surfaces."""

from __future__ import annotations

import math

import torch
from jaxtyping import Float, Int
from torch import Tensor

from deepume.datasets.shapes.meshes import Mesh
from deepume.datasets.shapes.parameters import Number

SEGMENTS = 64
"""Corners of a circle in a solid of revolution; a multiple of 2, 4 and 8."""
Corner = tuple[Number, Number]
"""A point in the plane."""
Place = tuple[Number, Number, Number]
"""A point in space."""
Outline = list[Corner]
"""Corners of a polygon or of a profile."""


def grid(points: Float[Tensor, "U V 3"], *, closed_u: bool = False, closed_v: bool = False) -> Mesh:
    """Surface through a grid of points, its rows or columns joined end to end where closed.

    Normals point to the right of a row when walking along it with the next row overhead.
    """
    rows, columns = points.shape[:2]
    u = torch.arange(rows if closed_u else rows - 1)[:, None]
    v = torch.arange(columns if closed_v else columns - 1)[None, :]
    below, right = (u + 1) % rows, (v + 1) % columns
    a, b = u * columns + v, below * columns + v
    c, d = below * columns + right, u * columns + right
    faces = torch.stack([a, c, b, a, d, c], -1).reshape(-1, 3)
    return Mesh(points.reshape(-1, 3), faces)


def box(x: Number, y: Number, z: Number) -> Mesh:
    """Box of these side lengths about the origin."""
    return extrude([(-x / 2, -y / 2), (x / 2, -y / 2), (x / 2, y / 2), (-x / 2, y / 2)], z)


def lathe(profile: Outline, *, closed: bool = False, segments: int = SEGMENTS) -> Mesh:
    """Profile of (radius, z) turned about the z axis; an open profile should start and end on the axis."""
    radius, height = torch.tensor(profile, dtype=torch.float64).unbind(-1)
    angle = torch.arange(segments, dtype=torch.float64) * (2 * math.pi / segments)
    x, y = radius[:, None] * angle.cos(), radius[:, None] * angle.sin()
    return grid(torch.stack([x, y, height[:, None].expand_as(x)], -1), closed_u=closed, closed_v=True)


def cylinder(radius: Number, height: Number, top: Number | None = None) -> Mesh:
    """Cylinder along z about the origin, or a cone or its stump where the top has another radius."""
    last = radius if top is None else top
    return lathe([(0, -height / 2), (radius, -height / 2), (last, height / 2), (0, height / 2)])


def ellipsoid(x: Number, y: Number, z: Number) -> Mesh:
    """Ellipsoid of these half axes about the origin."""
    return lathe(arc(1, -90, 90)).stretch(x, y, z)


def torus(ring: Number, tube_radius: Number) -> Mesh:
    """Torus about the z axis."""
    profile = [(ring + r, z) for r, z in arc(tube_radius, 0, 360, count=32)[:-1]]
    return lathe(profile, closed=True)


def arc(radius: Number, start_deg: Number, stop_deg: Number, *, z: Number = 0.0, count: int = 24) -> Outline:
    """Corners of an arc about (0, z), first and last included."""
    steps = torch.linspace(math.radians(start_deg), math.radians(stop_deg), count, dtype=torch.float64)
    return [(radius * math.cos(step), z + radius * math.sin(step)) for step in steps.tolist()]


def tube(
    path: Float[Tensor, "P 3"],
    radius: Number | Float[Tensor, " P"],
    *,
    up: Place,
    closed: bool = False,
    sides: int = 24,
) -> Mesh:
    """Round tube along a path that is nowhere parallel to ``up``; open tubes end in flat caps."""
    tangent = path.roll(-1, 0) - path.roll(1, 0)
    if not closed:
        tangent[0], tangent[-1] = path[1] - path[0], path[-1] - path[-2]
    first = torch.linalg.cross(tangent, path.new_tensor(up).expand_as(tangent))
    first = first / first.norm(dim=-1, keepdim=True)
    second = torch.linalg.cross(tangent / tangent.norm(dim=-1, keepdim=True), first)
    angle = torch.arange(sides, dtype=path.dtype)[:, None] * (2 * math.pi / sides)
    ring = first[:, None] * angle.cos() + second[:, None] * angle.sin()
    rows = path[:, None] + torch.as_tensor(radius, dtype=path.dtype).expand(len(path))[:, None, None] * ring
    if not closed:
        caps = path[:, None].expand_as(rows)
        rows = torch.cat([caps[:1], rows, caps[-1:]])
    return grid(rows, closed_u=closed, closed_v=True)


def capsule(
    start: Place,
    stop: Place,
    radius: Number,
    end_radius: Number | None = None,
) -> Mesh:
    """Limb between two points with round ends, thicker at one end where the radii differ."""
    last = radius if end_radius is None else end_radius
    bone = torch.tensor(stop, dtype=torch.float64) - torch.tensor(start, dtype=torch.float64)
    profile = arc(radius, -90, 0, count=8) + arc(last, 0, 90, z=float(bone.norm()), count=8)
    limb = lathe(profile, segments=24)
    return Mesh(limb.vertices @ _frame_along(bone).mT, limb.faces).move(*start)


def _frame_along(direction: Float[Tensor, " 3"]) -> Float[Tensor, "3 3"]:
    """A rotation that takes the z axis to ``direction``."""
    z = direction / direction.norm()
    x = torch.linalg.cross(torch.eye(3, dtype=z.dtype)[int(z.abs().argmin())], z)
    x = x / x.norm()
    return torch.stack([x, torch.linalg.cross(z, x), z], -1)


def extrude(outline: Outline, height: Number) -> Mesh:
    """Prism over a simple polygon with counterclockwise corners, along z about the origin."""
    flat = torch.tensor(outline, dtype=torch.float64)
    level = torch.full((len(flat), 1), height / 2, dtype=torch.float64)
    bottom, top = torch.cat([flat, -level], -1), torch.cat([flat, level], -1)
    wall = grid(torch.stack([bottom, top]), closed_v=True)
    cap = triangulate(outline)
    return wall + Mesh(bottom, cap.flip(-1)) + Mesh(top, cap)


def extrude_ring(outer: Outline, inner: Outline, height: Number) -> Mesh:
    """Prism between two polygons with equally many corners, corner facing corner."""
    rows = []
    for outline, level in (
        (outer, -height / 2),
        (outer, height / 2),
        (inner, height / 2),
        (inner, -height / 2),
    ):
        flat = torch.tensor(outline, dtype=torch.float64)
        rows.append(torch.cat([flat, torch.full((len(flat), 1), level, dtype=torch.float64)], -1))
    return grid(torch.stack(rows), closed_u=True, closed_v=True)


def triangulate(outline: Outline) -> Int[Tensor, "F 3"]:
    """Triangles of a simple polygon with counterclockwise corners, by clipping ears."""
    left, faces = list(range(len(outline))), []
    while len(left) > 3:
        position = next((i for i in range(len(left)) if _is_ear(outline, left, i)), None)
        if position is None:
            raise ValueError("The outline crosses itself or runs clockwise: it cannot be cut into triangles.")
        faces.append((left[position - 1], left[position], left[(position + 1) % len(left)]))
        left.pop(position)
    return torch.tensor([*faces, tuple(left)])


def _is_ear(outline: Outline, left: list[int], position: int) -> bool:
    names = (left[position - 1], left[position], left[(position + 1) % len(left)])
    a, b, c = (outline[name] for name in names)
    if _side(a, b, c) <= 0:
        return False
    others = (outline[name] for name in left if name not in names)
    return not any(_side(a, b, p) >= 0 and _side(b, c, p) >= 0 and _side(c, a, p) >= 0 for p in others)


def _side(a: Corner, b: Corner, c: Corner) -> Number:
    return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])


def polygon(corners: int, radius: Number, *, twist_deg: Number = 0.0) -> Outline:
    """Regular polygon, its first corner on the x axis unless twisted."""
    return star(corners, radius, None, twist_deg=twist_deg)


def star(points: int, radius: Number, waist: Number | None, *, twist_deg: Number = 0.0) -> Outline:
    """Star of that many points, its first point on the x axis; without a waist a regular polygon."""
    radii = [radius] if waist is None else [radius, waist]
    count = points * len(radii)
    turns = [math.radians(twist_deg) + 2 * math.pi * i / count for i in range(count)]
    return [(radii[i % len(radii)] * math.cos(a), radii[i % len(radii)] * math.sin(a)) for i, a in enumerate(turns)]


def spline(knots: Float[Tensor, "K D"], count: int) -> Float[Tensor, "P D"]:
    """Smooth curve through the knots (Catmull-Rom), ``count`` points from the first knot to the last."""
    padded = torch.cat([2 * knots[:1] - knots[1:2], knots, 2 * knots[-1:] - knots[-2:-1]])
    place = torch.linspace(0, len(knots) - 1, count, dtype=knots.dtype)
    index = place.long().clamp_max(len(knots) - 2)
    s = (place - index)[:, None]
    a, b, c, d = (padded[index + k] for k in range(4))
    return b + s / 2 * (c - a + s * (2 * a - 5 * b + 4 * c - d + s * (3 * (b - c) + d - a)))


def smooth_profile(knots: Outline, count: int = 48) -> Outline:
    """Profile for a lathe, smooth through its knots; radii that would turn negative are set to 0."""
    curve = spline(torch.tensor(knots, dtype=torch.float64), count)
    return [(max(radius, 0.0), height) for radius, height in curve.tolist()]
