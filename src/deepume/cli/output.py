"""Writing text files with errors that a user can act on."""

from __future__ import annotations

from pathlib import Path

from deepume.errors import FileFormatError


def write_text(path: Path, text: str) -> None:
    """Write text; if that fails, raise an error of one line with the reason."""
    try:
        path.write_text(text + "\n")
    except OSError as error:
        raise FileFormatError(f"Cannot write {path}: {error.strerror}. Choose another place.") from error


def make_folder(path: Path) -> None:
    """Make a folder and its parents; if that fails, raise an error of one line with the reason."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FileFormatError(f"Cannot make the folder {path}: {error.strerror}. Choose another place.") from error
