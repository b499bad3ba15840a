"""The table of formats."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from deepume.errors import FileFormatError
from deepume.io.contents import Geometry
from deepume.io.readers.laser import read_e57, read_las, read_mesh
from deepume.io.readers.numpy_files import read_npy, read_npz, write_npy
from deepume.io.readers.pcd import read_pcd, write_pcd
from deepume.io.readers.ply import read_ply, write_ply
from deepume.io.readers.text import read_text, write_text


@dataclass(frozen=True, slots=True)
class Format:
    """How a kind of file is recognized, read and, where we can, written."""

    name: str
    """What we call it."""
    looks: tuple[str, ...]
    """What its first bytes may look like, in the words of :func:`deepume.io.files.look_at`."""
    read: Callable[[Path], Geometry]
    """Reads it, or raises any exception."""
    write: Callable[[Path, np.ndarray], None] | None = None
    """Writes it."""


FORMATS: dict[str, Format] = {
    ".ply": Format("PLY", ("PLY",), read_ply, write_ply),
    ".pcd": Format("PCD", ("PCD",), read_pcd, write_pcd),
    ".xyz": Format("text", ("text",), read_text, write_text),
    ".txt": Format("text", ("text",), read_text, write_text),
    ".csv": Format("text", ("text",), read_text),
    ".asc": Format("text", ("text",), read_text),
    ".pts": Format("text", ("text",), read_text),
    ".npy": Format("NPY", ("NPY",), read_npy, write_npy),
    ".npz": Format("NPZ", ("ZIP archive",), read_npz),
    ".stl": Format("STL", ("ASCII STL", "binary data"), read_mesh),
    ".obj": Format("OBJ", ("text",), read_mesh),
    ".off": Format("OFF", ("OFF",), read_mesh),
    ".glb": Format("GLB", ("GLB",), read_mesh),
    ".gltf": Format("glTF", ("text",), read_mesh),
    ".las": Format("LAS", ("LAS",), read_las),
    ".laz": Format("LAZ", ("LAS",), read_las),
    ".e57": Format("E57", ("E57",), read_e57),
}
"""Every format by its extension."""


def known_extensions(*, writable: bool = False) -> tuple[str, ...]:
    """Extensions that can be read, or only those that can be written too."""
    return tuple(suffix for suffix, form in FORMATS.items() if form.write or not writable)


def find_format(file: Path, *, writable: bool = False) -> Format:
    """The format of a file by its extension, in either case of letters."""
    known = known_extensions(writable=writable)
    if file.suffix.lower() not in known:
        kind = f"extension {file.suffix!r}" if file.suffix else "file without an extension"
        action = "write" if writable else "read"
        raise FileFormatError(f"Cannot {action} {file.name!r}: unknown {kind}. Known: {' '.join(known)}.")
    return FORMATS[file.suffix.lower()]


def suggest_name(file: Path, look: str) -> str:
    """What to do with a file whose content is not what its extension says."""
    for suffix, form in FORMATS.items():
        if look in form.looks and look not in ("text", "binary data"):
            return f"Rename it to {file.with_suffix(suffix).name}."
    return f"Export it again as one of {' '.join(FORMATS)}."
