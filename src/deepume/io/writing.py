"""Writing clouds to files."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from deepume.errors import FileFormatError
from deepume.io.files import explain_os_error
from deepume.io.formats import find_format
from deepume.io.objects import convert_object


def write_points(path: str | os.PathLike[str], points: object) -> None:
    """Write a cloud so that reading it back gives the same doubles; the format follows from the extension."""
    file = Path(path).expanduser()
    write = find_format(file, writable=True).write
    rows = convert_object(points, name="points").detach().cpu().numpy().astype(np.float64)
    if not file.parent.is_dir():
        raise FileFormatError(f"Cannot write {file.name}: the folder {file.parent} does not exist. Create it first.")
    try:
        if write is not None:
            write(file, rows)
    except OSError as error:
        raise FileFormatError(explain_os_error(file, error)) from error
