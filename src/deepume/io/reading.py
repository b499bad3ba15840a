"""Reading files: points, or what is in them, and one clear error if that fails."""

from __future__ import annotations

import os
from pathlib import Path

from jaxtyping import Float
from torch import Tensor

from deepume.errors import FileFormatError, MissingPackageError
from deepume.io.contents import SAMPLE_POINTS, Geometry
from deepume.io.files import find_file, look_at, read_head
from deepume.io.formats import find_format, suggest_name
from deepume.io.packages import quiet
from deepume.io.summary import FileSummary, summarize


def read_points(
    path: str | os.PathLike[str], *, sample_points: int = SAMPLE_POINTS, seed: int = 0
) -> Float[Tensor, "N 3"]:
    """The points of a file as doubles, or points drawn from its mesh uniformly by area.

    The format follows from the extension (:func:`known_extensions`). The same seed draws the same points, bit
    for bit. A mesh without area gives its vertices. Raises :class:`FileFormatError` for a file that is
    missing, empty, damaged, mislabelled or without points; :class:`MissingPackageError` has the install line.
    """
    return _read_geometry(find_file(path)).points(sample_points, seed)


def describe_file(path: str | os.PathLike[str]) -> FileSummary:
    """What is in a file: its format, counts and extents, and how many points are invalid or repeated."""
    file = find_file(path)
    return summarize(_read_geometry(file), find_format(file).name)


def _read_geometry(file: Path) -> Geometry:
    """Check the first bytes, then read; any error of the reader becomes one of one line."""
    form, look = find_format(file), look_at(read_head(file))
    if look not in form.looks:
        raise FileFormatError(
            f"{file} should be {form.name} by its extension, but its content looks like {look}. "
            f"{suggest_name(file, look)}"
        )
    try:
        with quiet:
            geometry = form.read(file)
    except (FileFormatError, MissingPackageError):
        raise
    except Exception as error:
        reason = (str(error) or type(error).__name__).splitlines()[0][:200].rstrip(".")
        raise FileFormatError(f"{file} is damaged {form.name}: {reason}. Export or copy it again.") from error
    if not len(geometry.vertices):
        raise FileFormatError(f"{file} holds no points: it is empty or cut short {form.name}. Export it again.")
    return geometry
