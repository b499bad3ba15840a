"""Laws of files: what is written reads back the same, and no file does worse than one clear error."""

from __future__ import annotations

import functools
import itertools
import logging
import os
import re
import struct
import subprocess
import sys
import tempfile
import threading
import warnings
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch
import trimesh
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from deepume import io
from deepume.errors import (
    CloudShapeError,
    CloudValueError,
    DeepumeError,
    FileFormatError,
    MissingPackageError,
)
from deepume.io.formats import FORMATS, Format
from deepume.io.geometry import Geometry, triangle_areas

UTM = np.array([448_262.0, 5_411_932.0, 118.0])
"""A survey offset: single precision would lose centimeters there."""


def random_points(count: int = 40, offset: np.ndarray | float = 0.0) -> np.ndarray:
    return np.random.default_rng(7).normal(size=(count, 3)) + offset


def assert_same(points: torch.Tensor, expected: np.ndarray, tolerance: float = 0.0) -> None:
    assert points.dtype == torch.float64
    assert points.shape == expected.shape
    np.testing.assert_allclose(points.numpy(), expected, rtol=0, atol=tolerance)


def read_bytes(folder: Path, name: str, content: bytes | str, **options: int) -> torch.Tensor:
    return io.read_points(write_bytes(folder, name, content), **options)


def write_bytes(folder: Path, name: str, content: bytes | str) -> Path:
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


# Round trips of what we write


@pytest.mark.parametrize("suffix", io.known_extensions(writable=True))
@pytest.mark.parametrize("offset", [0.0, UTM])
def test_written_points_read_back_bit_for_bit(tmp_path, suffix, offset):
    points = random_points(offset=offset)
    io.write_points(tmp_path / f"cloud{suffix}", points)
    assert_same(io.read_points(tmp_path / f"cloud{suffix}"), points)


@pytest.mark.parametrize("suffix", io.known_extensions(writable=True))
def test_single_precision_and_non_finite_points_survive(tmp_path, suffix):
    points = torch.tensor([[0.1, torch.nan, torch.inf], [1.0, 2.0, -torch.inf]], requires_grad=True)
    io.write_points(tmp_path / f"cloud{suffix}", points)
    assert_same(io.read_points(tmp_path / f"cloud{suffix}"), points.detach().double().numpy())


@pytest.mark.parametrize("suffix", [".ply", ".xyz"])
def test_other_libraries_read_what_we_write(tmp_path, suffix):
    io.write_points(tmp_path / f"cloud{suffix}", random_points(offset=UTM))
    cloud = trimesh.load(tmp_path / f"cloud{suffix}")
    np.testing.assert_array_equal(cloud.vertices, random_points(offset=UTM))  # pyright: ignore


def test_pypcd4_reads_what_we_write(tmp_path):
    pypcd4 = pytest.importorskip("pypcd4", reason="needs the extra pcd")
    io.write_points(tmp_path / "cloud.pcd", random_points(offset=UTM))
    cloud = pypcd4.PointCloud.from_path(tmp_path / "cloud.pcd")
    np.testing.assert_array_equal(cloud.numpy(("x", "y", "z")), random_points(offset=UTM))


def test_extension_may_be_upper_case_and_home_a_tilde(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    io.write_points("~/CLOUD.PLY", random_points())
    assert_same(io.read_points("~/CLOUD.PLY"), random_points())


# PLY

SQUARE = np.array([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]], dtype=float)


def ply_header(encoding: str, kind: str = "double", *, extra: str = "", faces: int = 0, count: int = 4) -> bytes:
    axes = "".join(f"property {kind} {axis}\n" for axis in "xyz")
    face = f"element face {faces}\nproperty list uchar int vertex_indices\n" if faces else ""
    start = f"ply\nformat {encoding} 1.0\ncomment by hand\nelement vertex {count}\n"
    return f"{start}{axes}{extra}{face}end_header\n".encode()


ENDIANS = {"binary_little_endian": "<", "binary_big_endian": ">"}


@pytest.mark.parametrize("encoding", ENDIANS)
@pytest.mark.parametrize(("kind", "letter"), [("double", "f8"), ("float", "f4"), ("short", "i2")])
def test_binary_ply_keeps_its_precision(tmp_path, encoding, kind, letter):
    points = (random_points(4, UTM) if letter == "f8" else random_points(4) * 100).astype(letter)
    body = points.astype(ENDIANS[encoding] + letter).tobytes()
    assert_same(read_bytes(tmp_path, "a.ply", ply_header(encoding, kind) + body), points.astype(float))


@pytest.mark.parametrize("encoding", ENDIANS)
def test_binary_ply_with_colors_and_other_properties(tmp_path, encoding):
    order = ENDIANS[encoding]
    rows = np.zeros(4, [("xyz", order + "f8", 3), ("rgb", "u1", 3), ("quality", order + "f4")])
    rows["xyz"], rows["rgb"] = random_points(4, UTM), 200
    colors = "".join(f"property uchar {color}\n" for color in ("red", "green", "blue"))
    header = ply_header(encoding, extra=colors + "property float quality\n")
    assert_same(read_bytes(tmp_path, "a.ply", header + rows.tobytes() + b"\n"), random_points(4, UTM))


@pytest.mark.parametrize("end", ["\n", "\r\n", "\n\n"])
def test_ascii_ply(tmp_path, end):
    points = random_points(4, UTM)
    body = end.join(" ".join(map(repr, row)) for row in points.tolist()).encode()
    header = ply_header("ascii").replace(b"\n", end.encode())
    assert_same(read_bytes(tmp_path, "a.ply", header + body), points)


def test_ply_columns_are_found_by_name(tmp_path):
    header = "ply\nformat ascii 1.0\nelement camera 1\nproperty float f\nelement vertex 1\n"
    header += "".join(f"property float {name}\n" for name in ("nx", "z", "y", "x")) + "end_header\n"
    assert_same(read_bytes(tmp_path, "a.ply", header + "5\n9 3 2 1\n"), np.array([[1.0, 2.0, 3.0]]))


@pytest.mark.parametrize("encoding", ["ascii", *ENDIANS])
def test_ply_polygons_of_different_sizes_become_triangles(tmp_path, encoding):
    order = ENDIANS.get(encoding, "<")
    body = SQUARE.astype(order + "f8").tobytes() + struct.pack(order + "B3iB4iB2i", 3, 0, 1, 2, 4, 0, 1, 2, 3, 2, 0, 1)
    text = b"0 0 0\n1 0 0\n1 1 0\n0 1 0\n3 0 1 2\n4 0 1 2 3\n2 0 1\n"
    path = write_bytes(tmp_path, "a.ply", ply_header(encoding, faces=3) + (text if encoding == "ascii" else body))
    summary = io.describe_file(path)
    assert (summary.points, summary.faces, summary.is_mesh) == (4, 3, True)


def test_ply_agrees_with_trimesh_on_a_mesh(tmp_path):
    mesh = trimesh.creation.icosphere(subdivisions=1)
    for encoding in ("ascii", "binary"):
        path = write_bytes(tmp_path, "a.ply", mesh.export(file_type="ply", encoding=encoding))  # pyright: ignore
        assert io.describe_file(path).faces == len(mesh.faces)
        assert_same(io.read_points(path).norm(dim=-1, keepdim=True).round(), np.ones((io.SAMPLE_POINTS, 1)))


# PCD


@pytest.mark.parametrize("encoding", ["ascii", "binary", "binary_compressed"])
@pytest.mark.parametrize(("kind", "tolerance"), [(np.float64, 1e-9), (np.float32, 0.5)])
def test_pcd_of_all_kinds(tmp_path, encoding, kind, tolerance):
    pypcd4 = pytest.importorskip("pypcd4", reason="needs the extra pcd")
    points = random_points(50, UTM)
    rows = [np.zeros(50, np.uint16), *points.T.astype(kind)]
    cloud = pypcd4.PointCloud.from_points(rows, ("ring", "x", "y", "z"), (np.uint16, kind, kind, kind))
    cloud.save(tmp_path / "a.pcd", encoding=pypcd4.Encoding(encoding))
    assert_same(io.read_points(tmp_path / "a.pcd"), points, tolerance)


@pytest.mark.parametrize("version", [".5", "0.6", ".7"])
@pytest.mark.parametrize("body", ["1  2 3\n4 5 6 \n", "1\t2\t3\r\n4\t5\t6", "1 2 3\n\n4 5 6\n"])
def test_pcd_text_of_other_hands(tmp_path, version, body):
    header = f"# comment\nVERSION {version}\nFIELDS x y z\nSIZE 4 4 4\nTYPE F F F\nWIDTH 2\nHEIGHT 1\nDATA ascii\n"
    assert_same(read_bytes(tmp_path, "a.pcd", header + body), np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]))


def test_pcd_fields_may_repeat_and_hold_several_numbers(tmp_path):
    header = "VERSION .7\nFIELDS _ x y z _\nSIZE 1 4 4 4 1\nTYPE U F F F U\nCOUNT 4 1 1 1 2\nWIDTH 2\nHEIGHT 1\n"
    rows = np.zeros(2, [("a", "u1", 4), ("p", "<f4", 3), ("b", "u1", 2)])
    rows["p"] = [[1, 2, 3], [4, 5, 6]]
    content = header.encode() + b"POINTS 2\nDATA binary\n" + rows.tobytes()
    assert_same(read_bytes(tmp_path, "a.pcd", content), np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]))


# Text and arrays

ROWS = np.array([[1.0, 2.5, -3.0], [4.0, 5.0, 6e-3]])


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


# LAS, LAZ, E57


def write_las(path: Path, points: np.ndarray) -> None:
    laspy = pytest.importorskip("laspy", reason="needs the extra las")
    header = laspy.LasHeader(point_format=3, version="1.2")
    header.offsets, header.scales = points.mean(0).round(), [1e-3] * 3
    cloud = laspy.LasData(header)
    cloud.xyz = points
    cloud.write(str(path))


@pytest.mark.parametrize("suffix", [".las", ".laz"])
def test_las_keeps_millimeters_at_a_survey_offset(tmp_path, suffix):
    write_las(tmp_path / f"a{suffix}", random_points(500, UTM))
    assert_same(io.read_points(tmp_path / f"a{suffix}"), random_points(500, UTM), 5.1e-4)


def write_e57(path: Path, scans: list[tuple[np.ndarray, list[float], list[float]]]) -> None:
    pye57 = pytest.importorskip("pye57", reason="needs the extra e57")
    with pye57.E57(str(path), mode="w") as archive:
        for points, quaternion, translation in scans:
            columns = dict(zip(("cartesianX", "cartesianY", "cartesianZ"), points.T.copy(), strict=True))
            archive.write_scan_raw(columns, rotation=np.array(quaternion), translation=np.array(translation))


def test_e57_merges_its_scans_with_their_poses(tmp_path):
    first, second = random_points(20), random_points(30)
    quarter_turn, shift = [0.5**0.5, 0.0, 0.0, 0.5**0.5], UTM.tolist()
    write_e57(tmp_path / "a.e57", [(first, [1.0, 0, 0, 0], [0.0, 0, 0]), (second, quarter_turn, shift)])
    turned = second @ np.array([[0.0, -1, 0], [1, 0, 0], [0, 0, 1]]).T + UTM
    assert_same(io.read_points(tmp_path / "a.e57"), np.concatenate([first, turned]), 1e-6)


# Meshes


def export_gltf(mesh: trimesh.Trimesh) -> dict[str, bytes]:
    """The text of a scene and its separate buffers, by name."""
    return trimesh.Scene(mesh).export(file_type="gltf")  # pyright: ignore


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


# Objects


class Legacy:
    def to_legacy(self):
        return SimpleNamespace(points=ROWS)


@pytest.mark.parametrize(
    "cloud",
    [
        ROWS,
        ROWS.astype(">f8"),
        np.asfortranarray(ROWS),
        np.repeat(ROWS, 2, axis=0)[::2],
        ROWS.tolist(),
        tuple(map(tuple, ROWS)),
        list(ROWS),
        list(torch.from_numpy(ROWS)),
        np.ma.masked_invalid(ROWS),
        SimpleNamespace(points=ROWS),
        SimpleNamespace(points=ROWS.tolist(), colors=[]),
        SimpleNamespace(vertices=ROWS),
        SimpleNamespace(vertices=ROWS, triangles=np.empty((0, 3), int)),
        Legacy(),
        trimesh.PointCloud(ROWS),
        torch.from_numpy(ROWS),
    ],
    ids=lambda cloud: type(cloud).__name__,
)
def test_objects_of_every_kind_give_the_same_points(cloud):
    assert_same(io.as_points(cloud), ROWS)


def test_arrays_are_copied_and_read_only_arrays_are_fine():
    frozen = ROWS.copy()
    frozen.flags.writeable = False
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        points = io.as_points(frozen)
    points.zero_()
    assert frozen.all()


@pytest.mark.parametrize(
    ("given_dtype", "dtype"),
    [
        (torch.float64, torch.float64),
        (torch.float32, torch.float32),
        (torch.float16, torch.float32),
        (torch.bfloat16, torch.float32),
        (torch.int32, torch.float64),
        (torch.uint8, torch.float64),
    ],
)
def test_tensors_keep_single_and_double_precision(given_dtype, dtype):
    tensor = torch.ones(5, 3).to(given_dtype)
    points = io.as_points(tensor)
    assert points.dtype == dtype
    assert points is tensor or given_dtype != dtype


def test_integer_arrays_become_double():
    assert_same(io.as_points(np.arange(6, dtype=np.uint8).reshape(2, 3)), np.arange(6.0).reshape(2, 3))


def test_paths_are_read(tmp_path):
    io.write_points(tmp_path / "a.ply", ROWS)
    assert_same(io.as_points(tmp_path / "a.ply"), ROWS)
    assert_same(io.as_points(str(tmp_path / "a.ply")), ROWS)


@pytest.mark.parametrize(
    ("cloud", "message"),
    [
        (
            np.zeros((3, 500)),
            "source must have shape (N, 3), got (3, 500). Columns of points? Pass points.T.",
        ),
        (np.zeros((500, 6)), "got (500, 6). More columns than x, y, z? Pass points[:, :3]."),
        (torch.zeros(500, 6), "got (500, 6). More columns than x, y, z? Pass points[:, :3]."),
        (np.zeros((500, 2)), "got (500, 2). Points in a plane? Add a third column of zeros."),
        (np.zeros((2, 500, 3)), "got (2, 500, 3). A batch? Pass one cloud at a time, or use register_many."),
        (np.zeros((1, 500, 3)), "got (1, 500, 3). A batch of one? Pass points[0]."),
        ([], "got (0,). Pass an (N, 3) array"),
        (3.0, "got (). Pass an (N, 3) array"),
        ([[1, 2, 3], [4, 5]], "got rows of different lengths. Give each point x, y and z."),
        (
            SimpleNamespace(vertices=ROWS, faces=[[0, 1, 1, 0]]),
            "source.faces must have shape (F, 3), got (1, 4).",
        ),
    ],
    ids=str,
)
def test_wrong_shapes_say_what_to_do(cloud, message):
    with pytest.raises(CloudShapeError, match=re.escape(message)):
        io.as_points(cloud)


@pytest.mark.parametrize(
    ("cloud", "message"),
    [
        (None, "target must be a cloud, got NoneType. Pass an (N, 3) array"),
        ({"points": ROWS}, "target must be a cloud, got dict. Pass"),
        (object(), "target must be real numbers, got object. Pass"),
        ([["1", "2", "3"]], "got values of type <U1. Convert them with np.asarray(points, float)."),
        (np.zeros((5, 3), complex), "got values of type complex128. Pass points.real."),
        (np.zeros((5, 3), bool), "got values of type bool. Pass coordinates, not a mask."),
        (np.zeros((5, 3), object), "got values of type object. Pass an (N, 3) array"),
        (np.zeros(5, [("x", float)]), "Stack the fields"),
        (torch.zeros(5, 3, dtype=torch.complex64), "got torch.complex64. Convert it with points.double()."),
        ([torch.zeros(3, requires_grad=True)] * 2, "target must be a cloud, got list."),
        (SimpleNamespace(vertices=ROWS, faces=[[0, 1, 9]]), "faces must name vertices 0 to 1, got 0 to 9."),
    ],
    ids=str,
)
def test_wrong_values_say_what_to_do(cloud, message):
    with pytest.raises(CloudValueError, match=re.escape(message)):
        io.as_points(cloud, name="target")


def test_number_of_samples_must_be_positive():
    with pytest.raises(CloudValueError, match="sample_points must be at least 1, got 0"):
        io.as_points(trimesh.creation.box(), sample_points=0)


# Errors of files


def read_error(path: object) -> str:
    with pytest.raises(FileFormatError) as caught:
        io.as_points(path)
    message = str(caught.value)
    assert "\n" not in message
    return message


def test_missing_file_suggests_a_similar_name(tmp_path):
    io.write_points(tmp_path / "bunny.ply", ROWS)
    assert read_error(tmp_path / "buny.ply") == f"No file 'buny.ply' in {tmp_path}; did you mean 'bunny.ply'?"
    assert read_error(tmp_path / "xx.obj") == f"No file 'xx.obj' in {tmp_path}; check the path."
    assert "does not exist. Check the path." in read_error(tmp_path / "no" / "bunny.ply")


def test_folder_empty_file_pipe_and_impossible_name(tmp_path):
    (tmp_path / "scans.ply").mkdir()
    os.mkfifo(tmp_path / "pipe.ply")
    assert "is a folder, not a file. Pass one of the files in it." in read_error(tmp_path / "scans.ply")
    assert "is empty (0 bytes)" in read_error(write_bytes(tmp_path, "a.ply", b""))
    assert "is a device or pipe" in read_error(tmp_path / "pipe.ply")
    assert "file name too long" in read_error("x" * 5000 + ".ply")
    assert "folder" in read_error("")
    assert "No file" in read_error("a\0b.ply")


def test_unreadable_file(tmp_path, monkeypatch):
    io.write_points(tmp_path / "a.ply", ROWS)

    def refuse(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", refuse)  # the superuser may read everything, so chmod proves nothing
    assert "No permission to open" in read_error(tmp_path / "a.ply")


def test_unknown_extension_lists_the_known(tmp_path):
    message = read_error(write_bytes(tmp_path, "a.step", b"x"))
    assert message == f"Cannot read 'a.step': unknown extension '.step'. Known: {' '.join(FORMATS)}."
    assert "unknown file without an extension" in read_error(write_bytes(tmp_path, "scan", b"x"))


PNG = b"\x89PNG\r\n\x1a\n" + bytes(60)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        (
            "a.ply",
            PNG,
            "should be PLY by its extension, but its content looks like PNG image. Export it again as",
        ),
        ("a.stl", PNG, "looks like PNG image"),
        ("a.ply", b"1 2 3\n4 5 6\n", "looks like text"),
        (
            "a.stl",
            ply_header("ascii"),
            "should be STL by its extension, but its content looks like PLY. Rename it to a.ply.",
        ),
        ("a.xyz", ply_header("ascii"), "Rename it to a.ply."),
        ("a.las", b"version https://git-lfs.github.com/spec/v1\n", "git lfs pull"),
        ("a.obj", b"<!DOCTYPE html><html>", "looks like web page"),
        ("a.npy", b"PK\x03\x04rest", "Rename it to a.npz."),
        ("a.e57", b"hello", "looks like text"),
        ("a.glb", bytes(30), "looks like binary data"),
    ],
)
def test_mislabelled_content_is_named(tmp_path, name, content, message):
    assert message in read_error(write_bytes(tmp_path, name, content))


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.ply", ply_header("ascii", count=0)),
        ("a.ply", b"ply\nformat ascii 1.0\nend_header\n"),
        ("a.xyz", b"# nothing\n"),
        ("a.csv", b"x,y,z\n"),
        ("a.obj", b"# nothing\n"),
        ("a.stl", b"solid a\nendsolid a\n"),
        ("a.stl", bytes(84)),
        ("a.pcd", b"FIELDS x y z\nSIZE 4 4 4\nTYPE F F F\nWIDTH 0\nHEIGHT 1\nPOINTS 0\nDATA binary\n"),
    ],
)
def test_file_without_points_says_so(tmp_path, name, content):
    assert "holds no points" in read_error(write_bytes(tmp_path, name, content))


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (ply_header("ascii") + b"1 2 3\n4 5 6\n", "cut short, it does not hold the 4 rows of element vertex"),
        (ply_header("binary_little_endian") + bytes(95), "cut short"),
        (ply_header("binary_little_endian")[:40], "no line end_header"),
        (ply_header("binary_little_endian", "quaternion"), "number type 'quaternion'"),
        (ply_header("middle_endian"), "unknown encoding 'middle_endian'"),
        (ply_header("ascii").replace(b" z", b" w") + b"1 2 3\n" * 4, "no property z"),
        (ply_header("ascii", faces=1) + b"1 2 3\n" * 4 + b"3 0 1 9\n", "faces must name vertices 0 to 3"),
        (ply_header("ascii", count=10**18) + b"1 2 3\n", "cut short"),
    ],
)
def test_damaged_ply_says_where(tmp_path, content, reason):
    message = read_error(write_bytes(tmp_path, "a.ply", content))
    assert "is damaged PLY" in message
    assert reason in message
    assert message.endswith("Export or copy it again.")


def test_failed_reading_leaves_the_file_alone(tmp_path):
    for name in ("a.e57", "a.las"):
        path = write_bytes(tmp_path, name, (b"ASTM-E57" if name == "a.e57" else b"LASF") + bytes(3000))
        read_error(path)
        assert path.stat().st_size > 3000


def test_writing_errors(tmp_path):
    with pytest.raises(FileFormatError, match=r"Cannot write 'a\.stl': .* Known: \.ply \.pcd \.xyz \.txt \.npy\."):
        io.write_points(tmp_path / "a.stl", ROWS)
    with pytest.raises(FileFormatError, match=r"the folder .*/no does not exist\. Create it first\."):
        io.write_points(tmp_path / "no" / "a.ply", ROWS)
    (tmp_path / "b.ply").mkdir()
    with pytest.raises(FileFormatError, match=r"Cannot open .*: is a directory"):
        io.write_points(tmp_path / "b.ply", ROWS)
    with pytest.raises(CloudShapeError, match="points must have shape"):
        io.write_points(tmp_path / "a.ply", ROWS.T)


# Fuzz: any bytes either read or raise our error


@functools.cache
def valid_file(suffix: str) -> bytes:
    """A small valid file of a format."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"a{suffix}"
        MAKERS[suffix](path)
        return path.read_bytes()


CLOUD = random_points(12)
MAKERS: dict[str, Callable[[Path], object]] = {
    **dict.fromkeys(io.known_extensions(writable=True), lambda path: io.write_points(path, CLOUD)),
    **dict.fromkeys((".stl", ".obj", ".off", ".glb"), trimesh.creation.box().export),
    **dict.fromkeys((".csv", ".asc"), lambda path: path.write_text("x,y,z\n1,2,3\n4,5,6\n")),
    **dict.fromkeys((".las", ".laz"), lambda path: write_las(path, CLOUD)),
    ".pts": lambda path: path.write_text("2\n1 2 3\n4 5 6\n"),
    ".npz": lambda path: np.savez(path, points=CLOUD),
    ".gltf": lambda path: path.write_bytes(export_gltf(trimesh.creation.box())["model.gltf"]),
    ".e57": lambda path: write_e57(path, [(CLOUD, [1.0, 0, 0, 0], [0.0, 0, 0])]),
}


def assert_reads_or_refuses(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    try:
        points = io.read_points(path, sample_points=10)
    except DeepumeError as error:
        assert "\n" not in str(error)  # noqa: PT017
    else:
        assert points.ndim == 2
        assert len(points)


fuzz = settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.mark.parametrize("suffix", FORMATS)
@fuzz
@given(content=st.binary(max_size=600))
def test_random_bytes_never_crash(tmp_path, suffix, content):
    assert_reads_or_refuses(tmp_path / f"a{suffix}", content)
    assert_reads_or_refuses(tmp_path / f"a{suffix}", valid_file(suffix)[:16] + content)


@pytest.mark.parametrize("suffix", FORMATS)
@fuzz
@given(data=st.data())
def test_truncated_and_altered_files_never_crash(tmp_path, suffix, data):
    content = valid_file(suffix)
    place = data.draw(st.integers(0, len(content) - 1))
    assert_reads_or_refuses(tmp_path / f"a{suffix}", content[:place])
    altered = content[:place] + data.draw(st.binary(min_size=1, max_size=4)) + content[place + 1 :]
    assert_reads_or_refuses(tmp_path / f"a{suffix}", altered)


@pytest.mark.parametrize("suffix", [".ply", ".pcd", ".npy", ".stl", ".las", ".laz", ".e57", ".glb"])
def test_binary_files_cut_short_are_always_refused(tmp_path, suffix):
    content = valid_file(suffix)
    for place in {1, 10, 90, len(content) // 2, len(content) - 24, len(content) - 1}:
        read_error(write_bytes(tmp_path, f"a{suffix}", content[:place]))


# Manners


def test_libraries_are_silent_and_the_process_is_left_as_it_was(tmp_path, capfd, caplog):
    before = (
        list(warnings.filters),
        logging.getLogger("trimesh").propagate,
        logging.getLogger("trimesh").handlers[:],
    )
    contents = {
        **{suffix: valid_file(suffix) for suffix in FORMATS},
        ".obj": b"mtllib missing.mtl\nusemtl x\nv 0 0 0\nf 9 9 9\n",
        ".npy": b"\x93NUMPY\1\0",
    }
    for suffix, content in contents.items():
        assert_reads_or_refuses(tmp_path / f"a{suffix}", content)
        assert_reads_or_refuses(tmp_path / f"a{suffix}", content[: len(content) // 2])
    after = (
        list(warnings.filters),
        logging.getLogger("trimesh").propagate,
        logging.getLogger("trimesh").handlers[:],
    )
    assert before == after
    assert not caplog.records
    assert capfd.readouterr() == ("", "")


def test_a_warning_of_a_reader_is_held_back(tmp_path, monkeypatch, recwarn, caplog):
    def speak(path: Path) -> Geometry:
        warnings.warn("about the file", stacklevel=1)
        logging.getLogger("trimesh.child").warning("about the file")
        raise ValueError("first line\nsecond line")

    monkeypatch.setitem(FORMATS, ".xyz", Format("text", ("text",), speak))
    message = read_error(write_bytes(tmp_path, "a.xyz", b"1 2 3"))
    assert "first line. Export" in message
    assert not recwarn.list
    assert not caplog.records


def test_threads_read_at_once_and_leave_the_filters_alone(tmp_path):
    path = write_bytes(tmp_path, "a.stl", valid_file(".stl"))
    before, found = list(warnings.filters), []
    threads = [threading.Thread(target=lambda: found.append(io.read_points(path))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(torch.equal(points, found[0]) for points in found)
    assert len(found) == 8
    assert list(warnings.filters) == before


@pytest.mark.parametrize(
    ("suffix", "module", "line"),
    [
        (".pcd", "lzf", 'pip install "deepume[pcd]"'),
        (".las", "laspy", 'pip install "deepume[las]"'),
        (".e57", "pye57", 'pip install "deepume[e57]"'),
        (".stl", "trimesh", 'pip install "trimesh"'),
    ],
)
def test_a_missing_package_gives_its_install_line(tmp_path, monkeypatch, suffix, module, line):
    content = valid_file(suffix)
    if suffix == ".pcd":
        header = b"FIELDS x y z\nSIZE 4 4 4\nTYPE F F F\nWIDTH 1\nHEIGHT 1\nDATA binary_compressed\n"
        content = header + struct.pack("<II", 5, 12) + bytes(5)
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingPackageError) as caught:
        read_bytes(tmp_path, f"a{suffix}", content)
    assert str(caught.value) == line


def test_import_loads_no_reading_package():
    code = "import sys, deepume.io; print({'trimesh', 'laspy', 'pye57', 'pypcd4', 'lzf'} & set(sys.modules))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "set()"


# Summary


def test_summary_counts_what_is_in_the_way(tmp_path):
    points = np.array([[0, 0, 0], [1, 2, 3], [1, 2, 3], [np.nan, 0, 0], [-1, 5, np.inf], [1, 2, 3]])
    io.write_points(tmp_path / "a.ply", points)
    summary = io.describe_file(tmp_path / "a.ply")
    assert summary == io.FileSummary("PLY", 6, 0, (0.0, 0.0, 0.0), (1.0, 2.0, 3.0), 2, 2)
    assert not summary.is_mesh


def test_summary_of_a_cloud_without_a_finite_point(tmp_path):
    io.write_points(tmp_path / "a.xyz", np.full((2, 3), np.nan))
    summary = io.describe_file(tmp_path / "a.xyz")
    assert (summary.nonfinite, summary.duplicates) == (2, 0)
    assert np.isnan([*summary.minimum, *summary.maximum]).all()


def test_known_extensions_are_lower_case_and_unique():
    known = io.known_extensions()
    assert all(re.fullmatch(r"\.[a-z0-9]+", suffix) for suffix in known)
    assert set(io.known_extensions(writable=True)) < set(known)
    assert all(first != second for first, second in itertools.combinations(known, 2))
