"""Stanford 3D Scanning Repository: single range scans, a folder of ``.ply`` files."""

from __future__ import annotations

from pathlib import Path

from deepume.datasets.corpus import object_of
from deepume.datasets.folder import FolderSet

REMEDY = (
    "The range scans are at https://graphics.stanford.edu/data/3Dscanrep (bunny, drill, happy, dragon, "
    "Armadillo). Unpack them and name the folder."
)
"""Where to get the scans."""


def open_stanford(folder: Path) -> FolderSet:
    """The range scans under ``folder`` in sorted order, each in its unit sphere: partial views of objects."""
    return FolderSet(folder, name="stanford", suffixes=(".ply",), remedy=REMEDY, label_of=object_of)
