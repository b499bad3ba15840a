"""No file does worse than one clear error."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from clouds_on_disk import ROWS, ply_header, read_error, write_bytes
from deepume import io
from deepume.errors import (
    CloudShapeError,
    FileFormatError,
)
from deepume.io.formats import FORMATS


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


def test_failed_reading_leaves_the_file_as_it_was(tmp_path):
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
