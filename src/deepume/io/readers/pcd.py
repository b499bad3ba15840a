"""PCD by hand: pypcd4 refuses versions before 0.7, tabs and double spaces, and accepts files cut short.

Only the compressed kind needs a package, for its LZF decompressor.
"""

from __future__ import annotations

import struct
from pathlib import Path
from typing import BinaryIO

import numpy as np
from jaxtyping import Float

from deepume.io.contents import Geometry
from deepume.io.packages import import_package


def read_pcd(path: Path) -> Geometry:
    """The fields x, y and z of every point; the viewpoint is not applied, as in PCL."""
    with path.open("rb") as stream:
        header = _read_header(stream)
        body = stream.read()
    layout = _build_layout(header)
    count = int(header["POINTS"][0]) if "POINTS" in header else int(header["WIDTH"][0]) * int(header["HEIGHT"][0])
    columns = _DECODERS[header["DATA"][0].lower()](body, layout, count)
    return Geometry(np.stack([columns[axis].reshape(-1).astype(np.float64) for axis in "xyz"], -1))


def write_pcd(path: Path, points: Float[np.ndarray, "N 3"]) -> None:
    """Binary with double coordinates: nothing is lost."""
    header = (
        "# .PCD v0.7\nVERSION 0.7\nFIELDS x y z\nSIZE 8 8 8\nTYPE F F F\nCOUNT 1 1 1\n"
        f"WIDTH {len(points)}\nHEIGHT 1\nVIEWPOINT 0 0 0 1 0 0 0\nPOINTS {len(points)}\nDATA binary\n"
    )
    path.write_bytes(header.encode() + points.astype("<f8").tobytes())


def _read_header(stream: BinaryIO) -> dict[str, list[str]]:
    header: dict[str, list[str]] = {}
    for line in stream:
        match line.decode("latin-1").split():
            case [key, *values] if not key.startswith("#"):
                header[key] = values
        if "DATA" in header:
            break
    missing = [key for key in ("FIELDS", "SIZE", "TYPE", "WIDTH", "HEIGHT", "DATA") if not header.get(key)]
    if missing:
        raise ValueError(f"the header has no line {missing[0]}")
    if not {"x", "y", "z"} <= set(header["FIELDS"]):
        raise ValueError(f"the fields are {' '.join(header['FIELDS'])}, not x y z")
    return header


def _build_layout(header: dict[str, list[str]]) -> np.dtype:
    """The layout of a point. Only x, y and z keep their names: others may repeat."""
    fields = header["FIELDS"]
    names = [name if name in "xyz" else f"field {column}" for column, name in enumerate(fields)]
    numbers = [f"<{kind.lower()}{size}" for kind, size in zip(header["TYPE"], header["SIZE"], strict=True)]
    counts = [(int(count),) for count in header.get("COUNT", ["1"] * len(fields))]
    return np.dtype(list(zip(names, numbers, counts, strict=True)))


def _decode_ascii(body: bytes, layout: np.dtype, count: int) -> np.ndarray:
    doubles = np.dtype([(name, "<f8", layout[name].shape) for name in layout.names or ()])
    numbers = np.fromiter(map(float, body.split()), "<f8")
    return _decode_binary(numbers.tobytes(), doubles, count)


def _decode_binary(body: bytes, layout: np.dtype, count: int) -> np.ndarray:
    if count * layout.itemsize > len(body):
        raise ValueError(f"the body is cut short, it does not hold {count} points")
    return np.frombuffer(body, layout, count) if count else np.empty(0, layout)


def _decode_compressed(body: bytes, layout: np.dtype, count: int) -> dict[str, np.ndarray]:
    """Unlike the plain kind, all values of a field stand together."""
    packed, unpacked = struct.unpack_from("<II", body)
    if unpacked != count * layout.itemsize or packed > len(body) - 8:
        raise ValueError(f"the body is cut short, it does not hold {count} points")
    plain = import_package("lzf", "deepume[pcd]").decompress(body[8 : 8 + packed], unpacked)
    columns, start = {}, 0
    for name in layout.names or ():
        columns[name] = np.frombuffer(
            plain, layout[name].base, count * (layout[name].itemsize // layout[name].base.itemsize), start
        )
        start += columns[name].nbytes
    return columns


_DECODERS = {"ascii": _decode_ascii, "binary": _decode_binary, "binary_compressed": _decode_compressed}
