"""Checks of a file: whether it is there, and whether its content looks like its name."""

from __future__ import annotations

import os
import re
from difflib import get_close_matches
from pathlib import Path

from deepume.errors import FileFormatError

SIGNATURES: dict[str, re.Pattern[bytes]] = {
    "PLY": re.compile(rb"ply\s*[\r\n]"),
    "PCD": re.compile(rb"(?:\s|#[^\n]*\n)*(?:VERSION|FIELDS)\s"),
    "OFF": re.compile(rb"(?:\s|#[^\n]*\n)*[STCN4n]*OFF(?=[\s\d])"),
    "ASCII STL": re.compile(rb"\s*solid\b"),
    "GLB": re.compile(rb"glTF"),
    "NPY": re.compile(rb"\x93NUMPY"),
    "ZIP archive": re.compile(rb"PK\x03\x04"),
    "LAS": re.compile(rb"LASF"),
    "E57": re.compile(rb"ASTM-E57"),
    "PNG image": re.compile(rb"\x89PNG"),
    "JPEG image": re.compile(rb"\xff\xd8\xff"),
    "PDF": re.compile(rb"%PDF"),
    "HDF5": re.compile(rb"\x89HDF"),
    "gzip archive": re.compile(rb"\x1f\x8b"),
    "web page or XML": re.compile(rb"\s*<(?:!doctype|html|\?xml)", re.IGNORECASE),
    "Git LFS pointer (fetch the file with `git lfs pull`)": re.compile(rb"version https://git-lfs"),
}
"""How formats begin; what matches none is ``text`` or ``binary data``."""


def look_at(head: bytes) -> str:
    """What the first bytes of a file look like, in words."""
    for name, signature in SIGNATURES.items():
        if signature.match(head):
            return name
    return "binary data" if re.search(rb"[\x00-\x08\x0e-\x1f]", head) else "text"


def find_file(path: str | os.PathLike[str]) -> Path:
    """The path of a regular, non-empty file, or an error that says what is there instead."""
    file = Path(path).expanduser()
    try:
        if file.is_file():
            size = file.stat().st_size
        else:
            raise FileFormatError(_explain_absence(file))
    except OSError as error:
        raise FileFormatError(explain_os_error(file, error)) from error
    if not size:
        raise FileFormatError(f"{file} is empty (0 bytes). Export or copy it again.")
    return file


def read_head(file: Path) -> bytes:
    """The first bytes, enough to distinguish formats."""
    try:
        with file.open("rb") as stream:
            return stream.read(512)
    except OSError as error:
        raise FileFormatError(explain_os_error(file, error)) from error


def explain_os_error(file: Path, error: OSError) -> str:
    """One line for what the operating system refused."""
    if isinstance(error, PermissionError):
        return f"No permission to open {file}. Change its access rights or copy it to a folder of yours."
    reason = (error.strerror or type(error).__name__).lower()
    return f"Cannot open {str(file)[:200]}: {reason}. Check the path and the disk."


def _explain_absence(file: Path) -> str:
    if file.is_dir():
        return f"{file} is a folder, not a file. Pass one of the files in it."
    if file.exists():
        return f"{file} is a device or pipe, not a regular file. Copy its content to a file first."
    if not file.parent.is_dir():
        return f"No file {file.name!r}: the folder {file.parent} does not exist. Check the path."
    close = get_close_matches(file.name, os.listdir(file.parent), n=1)
    hint = f"did you mean {close[0]!r}?" if close else "check the path."
    return f"No file {file.name!r} in {file.parent.resolve()}; {hint}"
