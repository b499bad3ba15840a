"""Laws of text, NumPy, survey and mesh files."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
import torch
import trimesh
from hypothesis import given
from hypothesis import strategies as st

from clouds_on_disk import (
    ROWS,
    UTM,
    assert_same,
    export_gltf,
    random_points,
    read_bytes,
    write_bytes,
    write_e57,
    write_las,
)
from deepume import io
from deepume.errors import (
    FileFormatError,
)
from deepume.io.contents import triangle_areas


@pytest.mark.parametrize("suffix", [".xyz", ".txt", ".csv", ".asc", ".pts"])
@pytest.mark.parametrize(
    "content",
    [
        "1 2.5 -3\n4 5 6e-3\n",
        "1,2.5,-3\n4,5,6e-3",
        "1; 2.5; -3\r\n4; 5; 6e-3\r\n",
        "1;2,5;-3\n4;5;6e-3\n",
        "\ufeffx,y,z\n1,2.5,-3\n4,5,6e-3\n",
        '"X" "Y" "Z" "Red"\n1 2.5 -3 9\n4 5 6e-3 9\n',
        "id,x,y,z\n7,1,2.5,-3\n8,4,5,6e-3\n",
        "# made by hand\n//X Y Z\n\n1\t2.5\t-3\t255\n  4 5 6e-3 0 0\n",
        "2\n1 2.5 -3 -1540 10 10 10\n4 5 6e-3 7\n",
        "1,2.5,-3,,\n4,5,6e-3,,\n",
    ],
)
def test_text_in_all_its_dialects(tmp_path, suffix, content):
    assert_same(read_bytes(tmp_path, f"a{suffix}", content), ROWS)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("1 2\n3 4\n", "column"),
        ("1,,3,4\n", "convert"),
        ("1 2 3\n4 five 6\n", "five"),
        ("3\n1 2 3\n4 5 6\n", "promises 3 points, the file holds 2"),
        ("some words\nsome more words here\n", "convert"),
    ],
)
def test_text_that_is_no_table_is_refused(tmp_path, content, reason):
    with pytest.raises(FileFormatError, match=reason):
        read_bytes(tmp_path, "a.xyz", content)


@pytest.mark.parametrize("dtype", ["<f4", ">f8", "<i4", "<u2", "<f2"])
def test_npy_of_any_numbers_becomes_double(tmp_path, dtype):
    np.save(tmp_path / "a.npy", np.arange(12).reshape(4, 3).astype(dtype))
    assert_same(io.read_points(tmp_path / "a.npy"), np.arange(12.0).reshape(4, 3))


@pytest.mark.parametrize("names", [("points", "other"), ("xyz", "other"), ("anything",)])
def test_npz_by_name_or_by_being_the_only_cloud(tmp_path, names):
    arrays = {name: np.full((4, 3), float(place)) for place, name in enumerate(names)}
    np.savez(tmp_path / "a.npz", label=np.zeros(4), **arrays)  # pyright: ignore
    assert_same(io.read_points(tmp_path / "a.npz"), np.zeros((4, 3)))


def test_npz_without_a_clear_cloud_lists_its_arrays(tmp_path):
    np.savez(tmp_path / "a.npz", first=np.zeros((4, 3)), second=np.zeros((5, 3)))
    with pytest.raises(FileFormatError, match=r"holds first \(4, 3\), second \(5, 3\)"):
        io.read_points(tmp_path / "a.npz")


@pytest.mark.parametrize("suffix", [".las", ".laz"])
def test_las_keeps_millimeters_at_a_survey_offset(tmp_path, suffix):
    write_las(tmp_path / f"a{suffix}", random_points(500, UTM))
    assert_same(io.read_points(tmp_path / f"a{suffix}"), random_points(500, UTM), 5.1e-4)


def test_e57_merges_its_scans_with_their_poses(tmp_path):
    first, second = random_points(20), random_points(30)
    quarter_turn, shift = [0.5**0.5, 0.0, 0.0, 0.5**0.5], UTM.tolist()
    write_e57(tmp_path / "a.e57", [(first, [1.0, 0, 0, 0], [0.0, 0, 0]), (second, quarter_turn, shift)])
    turned = second @ np.array([[0.0, -1, 0], [1, 0, 0], [0, 0, 1]]).T + UTM
    assert_same(io.read_points(tmp_path / "a.e57"), np.concatenate([first, turned]), 1e-6)


@pytest.mark.parametrize("suffix", [".ply", ".stl", ".obj", ".off", ".glb", ".gltf"])
def test_mesh_of_every_format_is_sampled_on_its_surface(tmp_path, suffix):
    mesh = trimesh.creation.box(extents=[1, 2, 4])
    if suffix == ".gltf":
        for name, content in export_gltf(mesh).items():
            write_bytes(tmp_path, "a.gltf" if name.endswith(".gltf") else name, content)
    else:
        mesh.export(tmp_path / f"a{suffix}")
    points = io.read_points(tmp_path / f"a{suffix}", sample_points=500)
    assert points.shape == (500, 3)
    outside = (points.abs() / torch.tensor([0.5, 1.0, 2.0])).amax(-1) - 1
    assert outside.abs().max() < 1e-6
    assert io.describe_file(tmp_path / f"a{suffix}").faces == 12


@pytest.mark.parametrize(
    ("suffix", "content"),
    [(".obj", "v 1 2.5 -3\nv 4 5 6e-3\n"), (".off", "OFF\n2 0 0\n1 2.5 -3\n4 5 6e-3\n")],
)
def test_vertices_without_faces_are_a_cloud(tmp_path, suffix, content):
    assert_same(read_bytes(tmp_path, f"a{suffix}", content), ROWS)
    assert not io.describe_file(tmp_path / f"a{suffix}").is_mesh


def test_cloud_in_glb(tmp_path):
    trimesh.Scene(trimesh.PointCloud(ROWS)).export(tmp_path / "a.glb")
    assert_same(io.read_points(tmp_path / "a.glb"), ROWS, 1e-6)


def test_scene_places_its_parts(tmp_path):
    scene = trimesh.Scene()
    for shift in (0.0, 10.0):
        matrix = trimesh.transformations.translation_matrix([shift, 0, 0])
        scene.add_geometry(trimesh.creation.box(), transform=matrix)
    scene.export(tmp_path / "a.glb")
    for points in (io.read_points(tmp_path / "a.glb"), io.as_points(scene)):
        x = points[:, 0]
        assert ((x.abs() <= 0.51) | ((x - 10).abs() <= 0.51)).all()
        assert 4500 < (x > 5).sum() < 5500


@given(extents=st.tuples(*[st.floats(0.2, 5.0)] * 3))
def test_samples_are_spread_by_area(extents):
    mesh = trimesh.creation.box(extents=extents)
    points = io.as_points(mesh, sample_points=6000, seed=3)
    scaled = points / torch.tensor(extents) * 2
    side = scaled.abs().argmax(-1)
    face = 2 * side + (scaled.gather(1, side.unsqueeze(-1)).squeeze(-1) > 0)
    x, y, z = extents
    areas = np.repeat([y * z, x * z, x * y], 2)
    expected = 6000 * areas / areas.sum()
    chi_square = ((torch.bincount(face, minlength=6).numpy() - expected) ** 2 / expected).sum()
    assert chi_square < 30  # 5 degrees of freedom: passed by chance 99,998 times in 100,000


def test_samples_are_spread_evenly_within_a_triangle():
    triangle = SimpleNamespace(vertices=[[0, 0, 0], [1, 0, 0], [0, 1, 0]], faces=[[0, 1, 2]])
    points = io.as_points(triangle, sample_points=20_000)
    assert (points >= 0).all()
    assert (points.sum(-1) <= 1 + 1e-12).all()
    np.testing.assert_allclose(points.mean(0), [1 / 3, 1 / 3, 0], atol=0.01)
    np.testing.assert_allclose((points.sum(-1) < 0.5).double().mean(), 0.25, atol=0.015)


def test_same_seed_same_points_other_seed_others():
    mesh = trimesh.creation.icosphere()
    first, again, other = (io.as_points(mesh, sample_points=100, seed=seed) for seed in (5, 5, 6))
    assert torch.equal(first, again)
    assert not torch.equal(first, other)
    assert io.as_points(mesh).shape == (io.SAMPLE_POINTS, 3)


def test_mesh_without_area_gives_its_vertices(tmp_path):
    content = "OFF\n3 2 0\n0 0 0\n1 1 1\n2 2 2\n3 0 0 0\n3 1 1 2\n"
    assert_same(read_bytes(tmp_path, "a.off", content), np.repeat(np.arange(3.0), 3).reshape(3, 3))


def test_triangles_with_broken_corners_or_no_area_are_never_drawn():
    vertices = torch.tensor([[0, 0, 0], [1, 0, 0], [0, 1, 0], [torch.nan, 0, 0]], dtype=torch.float64)
    faces = torch.tensor([[0, 1, 3], [0, 1, 2], [1, 1, 2]])
    np.testing.assert_allclose(triangle_areas(vertices, faces), [0, 0.5, 0])
    mesh = SimpleNamespace(vertices=vertices.numpy(), triangles=faces.numpy())
    assert io.as_points(mesh).isfinite().all()
