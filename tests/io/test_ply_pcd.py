"""Laws of PLY and PCD files, and of everything that we write: it reads back the same."""

from __future__ import annotations

import struct

import numpy as np
import pytest
import torch
import trimesh

from clouds_on_disk import UTM, assert_same, ply_header, random_points, read_bytes, write_bytes
from deepume import io


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


SQUARE = np.array([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]], dtype=float)


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
