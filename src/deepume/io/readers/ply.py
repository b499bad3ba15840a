"""PLY by hand: trimesh refuses binary files that mix triangles and quads, and accepts ASCII files cut short.

An ASCII body is first turned into a binary one of doubles, so that one reader serves all three encodings.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

import numpy as np
from jaxtyping import Float, Int

from deepume.io.contents import Geometry

LETTERS = {
    "char": "b", "short": "h", "int": "i", "float": "f", "double": "d",
    "uchar": "B", "ushort": "H", "uint": "I",
    "int8": "b", "int16": "h", "int32": "i", "int64": "q", "float32": "f", "float64": "d",
    "uint8": "B", "uint16": "H", "uint32": "I", "uint64": "Q",
}  # fmt: skip
"""Number types of the header, as letters that NumPy and ``struct`` share."""
ORDERS = {"ascii": "<", "binary_little_endian": "<", "binary_big_endian": ">"}


@dataclass(frozen=True, slots=True)
class Property:
    """A number of each row, or a list of numbers whose length stands in front of it."""

    name: str
    number: str
    length: str = ""


@dataclass(frozen=True, slots=True)
class Element:
    """A table of the file: vertices, faces or something else."""

    name: str
    count: int
    properties: list[Property] = field(default_factory=list)

    def find(self, *names: str) -> str:
        """The column of the first property with one of these names."""
        for column, item in enumerate(self.properties):
            if item.name in names:
                return str(column)
        raise ValueError(f"element {self.name} has no property {names[0]}")


def read_ply(path: Path) -> Geometry:
    """A cloud, or a mesh with its polygons cut into triangles."""
    with path.open("rb") as stream:
        elements, ascii_body = _read_header(stream)
        body = _encode_ascii(stream.read()) if ascii_body else stream.read()
    vertices, faces, start = np.empty((0, 3)), np.empty((0, 3), np.int64), 0
    for element in elements:
        groups, start = _read_rows(element, body, start)
        if element.name == "vertex" and groups:
            columns = [element.find(axis) for axis in "xyz"]
            vertices = np.concatenate([np.stack([rows[c] for c in columns], -1) for rows in groups])
        if element.name == "face" and groups:
            column = element.find("vertex_indices", "vertex_index")
            faces = np.concatenate([_cut_polygons(rows[column]) for rows in groups])
    return Geometry(vertices.astype(np.float64), faces)


def write_ply(path: Path, points: Float[np.ndarray, "N 3"]) -> None:
    """Binary little endian with double coordinates: nothing is lost."""
    columns = "".join(f"property double {axis}\n" for axis in "xyz")
    header = f"ply\nformat binary_little_endian 1.0\nelement vertex {len(points)}\n{columns}end_header\n"
    path.write_bytes(header.encode() + points.astype("<f8").tobytes())


def _read_header(stream: BinaryIO) -> tuple[list[Element], bool]:
    """The tables of the file, and whether their numbers are text."""
    elements: list[Element] = []
    encoding = ""
    for line in stream:
        match line.decode("latin-1").split():
            case ["format", encoding, _]:
                pass
            case ["element", name, count]:
                elements.append(Element(name, int(count)))
            case ["property", "list", length, number, name]:
                elements[-1].properties.append(Property(name, _letters(encoding, number), _letters(encoding, length)))
            case ["property", number, name]:
                elements[-1].properties.append(Property(name, _letters(encoding, number)))
            case ["end_header"]:
                return elements, encoding == "ascii"
    raise ValueError("the header is cut short, it has no line end_header")


def _letters(encoding: str, number: str) -> str:
    if encoding not in ORDERS or number not in LETTERS:
        raise ValueError(f"unknown encoding {encoding!r} or number type {number!r}")
    return ORDERS[encoding] + ("d" if encoding == "ascii" else LETTERS[number])


def _encode_ascii(body: bytes) -> bytes:
    return np.fromiter(map(float, body.split()), "<f8").tobytes()


def _read_rows(element: Element, body: bytes, start: int) -> tuple[list[np.ndarray], int]:
    """Rows grouped by the lengths of their lists, and the end of the last row."""
    if element.count > len(body) - start:  # even a row of one byte each would not fit
        raise _cut_short(element)
    if element.count == 0:
        return [], start
    layout = _build_layout(element, _read_lengths(element, body, start))
    end = start + element.count * layout.itemsize
    if end <= len(body):
        rows = np.frombuffer(body, layout, element.count, start)
        lengths = [rows[name] for name in layout.names or () if name.startswith("length")]
        if all((length == length[0]).all() for length in lengths):
            return [rows], end
    return _walk_rows(element, body, start)


def _walk_rows(element: Element, body: bytes, start: int) -> tuple[list[np.ndarray], int]:
    """Row by row, for polygons of different sizes: where one ends is known only once it is read."""
    layouts: dict[tuple[int, ...], np.dtype] = {}
    starts: dict[tuple[int, ...], list[int]] = {}
    for _ in range(element.count):
        lengths = _read_lengths(element, body, start)
        if lengths not in layouts:
            layouts[lengths] = _build_layout(element, lengths)
        starts.setdefault(lengths, []).append(start)
        start += layouts[lengths].itemsize
    if start > len(body):
        raise _cut_short(element)
    octets = np.frombuffer(body, np.uint8)
    return [
        octets[np.array(starts[key])[:, None] + np.arange(layout.itemsize)].view(layout)[:, 0]
        for key, layout in layouts.items()
    ], start


def _read_lengths(element: Element, body: bytes, start: int) -> tuple[int, ...]:
    """How long the lists of the row at ``start`` are."""
    lengths = []
    for item in element.properties:
        count = 1
        if item.length:
            if start + struct.calcsize(item.length) > len(body):
                raise _cut_short(element)
            count = int(struct.unpack_from(item.length, body, start)[0])
            lengths.append(count)
            start += struct.calcsize(item.length)
        start += struct.calcsize(item.number) * count
    return tuple(lengths)


def _build_layout(element: Element, lengths: tuple[int, ...]) -> np.dtype:
    """The layout of a row whose lists are this long; a column is named by its number, a length likewise."""
    counts, fields = iter(lengths), []
    for column, item in enumerate(element.properties):
        if item.length:
            fields += [(f"length {column}", item.length), (str(column), item.number, (next(counts),))]
        else:
            fields.append((str(column), item.number))
    return np.dtype(fields)


def _cut_polygons(polygons: np.ndarray) -> Int[np.ndarray, "F 3"]:
    """Triangles as fans around the first corner; polygons of fewer than three corners give none."""
    fans = [polygons[:, [0, corner, corner + 1]] for corner in range(1, polygons.shape[1] - 1)]
    return np.concatenate(fans).astype(np.int64) if fans else np.empty((0, 3), np.int64)


def _cut_short(element: Element) -> ValueError:
    return ValueError(f"the body is cut short, it does not hold the {element.count} rows of element {element.name}")
