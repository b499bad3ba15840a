"""Any bytes either read or raise our error; libraries are kept quiet; summaries count."""

from __future__ import annotations

import functools
import itertools
import logging
import re
import struct
import subprocess
import sys
import tempfile
import threading
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
import trimesh
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from clouds_on_disk import (
    export_gltf,
    random_points,
    read_bytes,
    read_error,
    write_bytes,
    write_e57,
    write_las,
)
from deepume import io
from deepume.errors import (
    DeepumeError,
    MissingPackageError,
)
from deepume.io.contents import Geometry
from deepume.io.formats import FORMATS, Format


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


def test_threads_read_at_once_and_leave_the_filters_as_they_were(tmp_path):
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
