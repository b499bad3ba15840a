"""FAUST: raw scans of people, a folder of ``.ply`` files."""

from __future__ import annotations

from pathlib import Path

from deepume.datasets.folder import FolderSet

REMEDY = (
    "FAUST is free for research after registration: https://faust-leaderboard.is.tuebingen.mpg.de "
    "(MPI-FAUST/*/scans). Name the folder with the scans."
)
"""Where to get the scans."""


def open_faust(folder: Path, *, in_meters: bool = False) -> FolderSet:
    """The scans under ``folder`` in sorted order, in the unit sphere unless ``in_meters``.

    Differs from the paper: the released code takes the files in the order of the file system, in meters.
    """
    return FolderSet(
        folder,
        name="faust",
        suffixes=(".ply",),
        remedy=REMEDY,
        label_of=lambda _: "person",
        in_unit_sphere=not in_meters,
    )
