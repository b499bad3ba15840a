"""Tables of numbers with white space, commas or semicolons between columns, comments and a header line."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from jaxtyping import Float

from deepume.io.contents import Geometry


def read_text(path: Path) -> Geometry:
    """The columns that a header names x, y and z, otherwise the first three.

    A first line of one whole number (``.pts``) is the number of points. Between semicolons, a comma is a
    decimal comma.
    """
    lines = _read_lines(path)
    promised = int(lines.pop(0)) if lines and lines[0].isdecimal() else None
    columns = (0, 1, 2)
    if lines and _is_header(lines[0]):
        columns = _find_columns(_split(lines.pop(0)))
    if not lines:
        return Geometry(np.empty((0, 3)))
    if ";" in lines[0]:
        lines = [line.replace(",", ".") for line in lines]
    points = np.loadtxt(lines, usecols=columns, delimiter=_find_delimiter(lines[0]), comments=None, ndmin=2)
    if promised is not None and promised != len(points):
        raise ValueError(f"the first line promises {promised} points, the file holds {len(points)}")
    return Geometry(points)


def write_text(path: Path, points: Float[np.ndarray, "N 3"]) -> None:
    """The shortest decimals that read back as the same doubles."""
    path.write_text("".join(f"{x!r} {y!r} {z!r}\n" for x, y, z in points.tolist()))


def _read_lines(path: Path) -> list[str]:
    """The lines that are not empty, without comments."""
    lines = (line.strip() for line in path.read_text("utf-8-sig", errors="replace").splitlines())
    return [line for line in lines if line and not line.startswith(("#", "//"))]


def _find_delimiter(line: str) -> str | None:
    return next((mark for mark in ";," if mark in line), None)


def _split(line: str) -> list[str]:
    return [word.strip(" \t\"'").lower() for word in line.split(_find_delimiter(line))]


def _is_header(line: str) -> bool:
    """A line of words; one that mixes words and numbers is a damaged row."""
    return not any(map(_is_number, _split(line)))


def _is_number(word: str) -> bool:
    try:
        float(word.replace(",", "."))
    except ValueError:
        return False
    return True


def _find_columns(names: list[str]) -> tuple[int, int, int]:
    """Where the header says x, y and z; files without such names start with them."""
    if {"x", "y", "z"} <= set(names):
        return names.index("x"), names.index("y"), names.index("z")
    return 0, 1, 2
