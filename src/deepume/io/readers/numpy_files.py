"""NumPy's own files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from jaxtyping import Float

from deepume.errors import FileFormatError
from deepume.io.contents import Geometry, float_rows


def read_npy(path: Path) -> Geometry:
    """An array of three columns."""
    array = np.load(path, allow_pickle=False)
    if not _is_cloud(array):
        columns = "Columns of points? Save its transpose" if array.shape[:1] == (3,) else "Save an (N, 3) array"
        raise FileFormatError(f"{path} holds {array.dtype} of shape {array.shape}, not (N, 3) numbers. {columns}.")
    return Geometry(float_rows(array))


def read_npz(path: Path) -> Geometry:
    """The array ``points`` or ``xyz``, or else the only one with three columns."""
    with np.load(path, allow_pickle=False) as archive:
        arrays = {name: archive[name] for name in archive.files}
    clouds = {name: array for name, array in arrays.items() if _is_cloud(array)}
    named = [name for name in ("points", "xyz") if name in clouds] or list(clouds)
    if not named or (len(clouds) > 1 and named[0] not in ("points", "xyz")):
        found = ", ".join(f"{name} {array.shape}" for name, array in arrays.items()) or "nothing"
        raise FileFormatError(f"{path} needs one (N, 3) array, or one named points or xyz, and holds {found}.")
    return Geometry(float_rows(clouds[named[0]]))


def write_npy(path: Path, points: Float[np.ndarray, "N 3"]) -> None:
    """Doubles."""
    with path.open("wb") as stream:
        np.save(stream, points)


def _is_cloud(array: np.ndarray) -> bool:
    return array.ndim == 2 and array.shape[1] == 3 and array.dtype.kind in "fiu"
