"""Formats that a library reads: meshes by trimesh, LAS and LAZ by laspy, E57 by pye57."""

from __future__ import annotations

import os
import struct
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float

from deepume.io.contents import Geometry, float_rows, merge_geometries, merge_scene
from deepume.io.packages import import_package

CHUNK_POINTS = 1_000_000
"""Points decompressed at a time: a damaged count cannot ask for more memory than the file can fill."""


def read_mesh(path: Path) -> Geometry:
    """All meshes of the file in one, at the places its scene gives them; only vertices are a cloud."""
    trimesh = import_package("trimesh", "trimesh")
    scene = trimesh.load(
        str(path), file_type=path.suffix[1:].lower(), force="scene", process=False, skip_materials=True
    )
    return merge_scene(scene)


def read_las(path: Path) -> Geometry:
    """Scaled and shifted coordinates in double precision."""
    laspy = import_package("laspy", "deepume[las]")
    _check_las_records(path)
    with laspy.open(path, laz_backend=laspy.LazBackend.Lazrs, read_evlrs=False) as reader:
        _check_las_points(path, reader.header)
        chunks = [_read_las_points(chunk) for chunk in reader.chunk_iterator(CHUNK_POINTS)]
        promised, found = reader.header.point_count, sum(map(len, chunks))
    if promised != found:
        raise ValueError(f"the header promises {promised} points, the file holds {found}")
    return merge_geometries([Geometry(chunk) for chunk in chunks])


def _read_las_points(chunk: Any) -> Float[np.ndarray, "N 3"]:
    return float_rows(np.stack([chunk.x, chunk.y, chunk.z], -1))


def _check_las_records(path: Path) -> None:
    """Refuse a damaged number of records before laspy loops over four billion of them."""
    with path.open("rb") as stream:
        head = stream.read(104).ljust(104, b"\0")
    (records,) = struct.unpack_from("<I", head, 100)
    if 54 * records > path.stat().st_size:
        raise ValueError(f"the header promises {records} records, more than fit")


def _check_las_points(path: Path, header: Any) -> None:
    """Refuse damaged sizes before laspy reads nothing for hours, or lazrs ends the whole process."""
    width, size = header.point_format.size, path.stat().st_size
    fits = width * header.point_count <= size
    if header.are_points_compressed:
        record = header.vlrs.get("LasZipVlr")[0].record_data
        (chunk_points,), (items,) = struct.unpack_from("<I", record, 12), struct.unpack_from("<H", record, 32)
        item_widths = [struct.unpack_from("<H", record, 36 + 6 * item)[0] for item in range(items)]
        chunks = _read_chunk_count(path, header.offset_to_point_data)
        fits = sum(item_widths) == width and chunks * width <= size and header.point_count <= chunks * chunk_points
    if not fits:
        raise ValueError(f"the header promises {header.point_count} points, more than the file can hold")


def _read_chunk_count(path: Path, start: int) -> int:
    """LAZ points begin, or in a streamed file end, with the place of a table: a version and a count."""
    with path.open("rb") as stream:
        stream.seek(start)
        (table,) = struct.unpack("<q", stream.read(8))
        if table == -1:
            stream.seek(-8, os.SEEK_END)
            (table,) = struct.unpack("<q", stream.read(8))
        stream.seek(table)
        return struct.unpack("<II", stream.read(8))[1]


def read_e57(path: Path) -> Geometry:
    """The valid points of all scans, each moved by its pose."""
    pye57 = import_package("pye57", "deepume[e57]")
    axes = ("cartesianX", "cartesianY", "cartesianZ")
    with pye57.E57(str(path)) as archive:
        filled = [index for index in range(archive.scan_count) if archive.get_header(index).point_count]
        scans = [archive.read_scan(index, ignore_missing_fields=True) for index in filled]
    return merge_geometries([Geometry(float_rows(np.stack([scan[axis] for axis in axes], -1))) for scan in scans])
