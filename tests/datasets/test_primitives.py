import math

import pytest
import torch

from deepume.datasets.shapes.meshes import Mesh, merge
from deepume.datasets.shapes.primitives import (
    box,
    capsule,
    cylinder,
    ellipsoid,
    extrude,
    extrude_ring,
    polygon,
    smooth_profile,
    spline,
    torus,
    triangulate,
    tube,
)

L_SHAPE = [(0.0, 0.0), (3.0, 0.0), (3.0, 1.0), (1.0, 1.0), (1.0, 2.0), (0.0, 2.0)]
HELIX = torch.linspace(0, 9, 90, dtype=torch.float64)
SOLIDS = {
    "box": (box(1, 2, 3), 6.0),
    "cylinder": (cylinder(1, 2), 2 * math.pi),
    "cone": (cylinder(1, 3, 0), math.pi),
    "ellipsoid": (ellipsoid(1, 2, 3), 8 * math.pi),
    "torus": (torus(2, 0.5), 2 * math.pi**2 * 2 * 0.25),
    "capsule": (capsule((0, 0, 0), (0, 3, 4), 0.5), math.pi * 0.25 * 5 + math.pi / 6),
    "concave prism": (extrude(L_SHAPE, 2), 8.0),
    "ring": (extrude_ring(polygon(64, 2), polygon(64, 1), 1), 3 * math.pi),
    "tube": (
        tube(torch.stack([HELIX.cos(), HELIX.sin(), HELIX], -1), 0.1, up=(0, 0, 1)),
        0.09 * math.sqrt(2) * math.pi,
    ),
}


@pytest.mark.parametrize("name", SOLIDS)
def test_solids_are_closed_and_have_their_volume(name: str) -> None:
    mesh, volume = SOLIDS[name]
    a, b, c = mesh.corners.unbind(-2)
    normals = torch.linalg.cross(b - a, c - a)
    assert normals.sum(0).abs().max() < 1e-9  # a closed surface has no net normal
    assert (a * torch.linalg.cross(b, c)).sum().item() / 6 == pytest.approx(volume, rel=0.03)


def test_area_of_a_box() -> None:
    assert box(1, 2, 3).areas.sum().item() == pytest.approx(22)


def test_points_of_a_box_are_uniform_over_its_area() -> None:
    sides, count = torch.tensor([1.0, 2.0, 3.0], dtype=torch.float64), 60_000
    points = box(1, 2, 3).sample(count, generator=torch.Generator().manual_seed(0))
    on_face = (points.abs() - sides / 2).abs() < 1e-9
    assert on_face.any(-1).all()
    expected = torch.tensor([6.0, 3.0, 2.0], dtype=torch.float64) / 11
    assert (on_face.double().mean(0) - expected).abs().max() < 0.01
    inside = points[on_face[:, 0]][:, 1:] / sides[1:]  # uniform in the face too
    assert (inside.mean(0)).abs().max() < 0.01
    assert (inside.var(0) - 1 / 12).abs().max() < 0.002


def test_points_of_a_ball_are_uniform_in_height() -> None:
    points = ellipsoid(1, 1, 1).sample(40_000, generator=torch.Generator().manual_seed(0))
    heights = points[:, 2].sort().values
    uniform = torch.linspace(-1, 1, 40_000, dtype=torch.float64)
    assert (heights - uniform).abs().max() < 0.03  # Archimedes


def test_centroid_is_of_the_surface_and_not_of_the_corners() -> None:
    lopsided = box(1, 1, 1) + ellipsoid(0.01, 0.01, 0.01).move(5, 0, 0)
    assert lopsided.centroid[0] < 0.01
    unit = lopsided.to_unit_sphere()
    assert unit.centroid.abs().max() < 1e-12
    assert unit.vertices.norm(dim=-1).max().item() == pytest.approx(1)


def test_merging_keeps_every_triangle() -> None:
    parts = [box(1, 1, 1), cylinder(1, 1), box(2, 1, 1).move(3, 0, 0)]
    whole = merge(parts)
    assert torch.equal(whole.areas, torch.cat([part.areas for part in parts]))
    assert isinstance(parts[0] + parts[1], Mesh)


def test_turning_follows_the_right_hand() -> None:
    corner = box(1, 1, 1).move(1, 0, 0).turn(2, 90).centroid
    assert (corner - torch.tensor([0.0, 1, 0], dtype=torch.float64)).abs().max() < 1e-12


def test_triangles_of_a_concave_polygon_fill_it() -> None:
    flat = torch.tensor(L_SHAPE, dtype=torch.float64)
    a, b, c = flat[triangulate(L_SHAPE)].unbind(-2)
    areas = ((b - a)[:, 0] * (c - a)[:, 1] - (b - a)[:, 1] * (c - a)[:, 0]) / 2
    assert (areas > 0).all()
    assert areas.sum().item() == pytest.approx(4)


def test_a_clockwise_polygon_is_refused() -> None:
    with pytest.raises(ValueError, match="clockwise"):
        triangulate(L_SHAPE[::-1])


def test_splines_pass_through_their_knots() -> None:
    knots = torch.tensor([[0.0, 0], [1, 2], [3, 1], [4, 4]], dtype=torch.float64)
    curve = spline(knots, 31)
    assert (curve[::10] - knots).abs().max() < 1e-12
    assert min(radius for radius, _ in smooth_profile([(1.0, 0.0), (0.0, 1.0), (0.0, 2.0), (1.0, 3.0)])) == 0
