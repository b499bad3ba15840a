"""Small files of every format, and what is asserted of them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
import trimesh

from deepume import io
from deepume.errors import FileFormatError

UTM = np.array([448_262.0, 5_411_932.0, 118.0])
"""A survey offset: single precision would lose centimeters there."""
ROWS = np.array([[1.0, 2.5, -3.0], [4.0, 5.0, 6e-3]])
"""Two points with nothing round about them."""


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


def write_las(path: Path, points: np.ndarray) -> None:
    laspy = pytest.importorskip("laspy", reason="needs the extra las")
    header = laspy.LasHeader(point_format=3, version="1.2")
    header.offsets, header.scales = points.mean(0).round(), [1e-3] * 3
    cloud = laspy.LasData(header)
    cloud.xyz = points
    cloud.write(str(path))


def write_e57(path: Path, scans: list[tuple[np.ndarray, list[float], list[float]]]) -> None:
    pye57 = pytest.importorskip("pye57", reason="needs the extra e57")
    with pye57.E57(str(path), mode="w") as archive:
        for points, quaternion, translation in scans:
            columns = dict(zip(("cartesianX", "cartesianY", "cartesianZ"), points.T.copy(), strict=True))
            archive.write_scan_raw(columns, rotation=np.array(quaternion), translation=np.array(translation))


def export_gltf(mesh: trimesh.Trimesh) -> dict[str, bytes]:
    """The text of a scene and its separate buffers, by name."""
    return trimesh.Scene(mesh).export(file_type="gltf")  # pyright: ignore


def ply_header(encoding: str, kind: str = "double", *, extra: str = "", faces: int = 0, count: int = 4) -> bytes:
    axes = "".join(f"property {kind} {axis}\n" for axis in "xyz")
    face = f"element face {faces}\nproperty list uchar int vertex_indices\n" if faces else ""
    start = f"ply\nformat {encoding} 1.0\ncomment by hand\nelement vertex {count}\n"
    return f"{start}{axes}{extra}{face}end_header\n".encode()


def read_error(path: object) -> str:
    with pytest.raises(FileFormatError) as caught:
        io.as_points(path)
    message = str(caught.value)
    assert "\n" not in message
    return message
