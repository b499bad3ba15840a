"""Data sets by name: from packs, from the original files, or generated."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from functools import partial
from pathlib import Path

from deepume.datasets import faust, modelnet40, stanford
from deepume.datasets.corpus import PackSet
from deepume.datasets.folder import FolderSet
from deepume.datasets.modelnet40 import Split
from deepume.datasets.one_sided_scans import scan_procedural
from deepume.datasets.pairs.keys import Dataset
from deepume.datasets.procedural import ProceduralSet
from deepume.errors import FileFormatError, require_known


class SetName(StrEnum):
    """Names of the sets that :func:`open_set` opens."""

    STANFORD = "stanford"
    """Range scans of five objects. For tests only."""
    FAUST = "faust"
    """Scans of people. For tests only."""
    FAUST_METERS = "faust-meters"
    """The same in meters, as the paper's released code has them. For tests only."""
    MODELNET40_TEST = "modelnet40-test"
    """CAD models of 40 classes, official test split. For tests only."""
    MODELNET40_TRAIN = "modelnet40-train"
    """The official training split."""
    OPEN_TRAIN = "open-train"
    """Freely licensed shapes for training, without the held-out ones."""
    OPEN_VALIDATION = "open-validation"
    """The held-out 5 % of the freely licensed shapes: decide on these."""
    RESEARCH = "research"
    """Shapes for research use only."""
    PROCEDURAL = "procedural"
    """Generated shapes; needs no folder."""
    SCAN_TRAIN = "scan-train"
    """One-sided scans of generated shapes; needs no folder."""
    SCAN_VALIDATION = "scan-validation"
    """Scans of other such shapes: decide on these; needs no folder."""
    FOLDER = "folder"
    """Any folder of meshes or clouds."""


def open_set(name: str, folder: str | Path | None = None) -> Dataset:
    """The set of a name, read from ``folder``: a pack there if there is one, else the original files.

    Shapes live in the unit sphere. A missing file is an error that says what was expected where and where to get it.
    """
    require_known("data set", name, [member.value for member in SetName])
    if name in _MADE:
        return _MADE[SetName(name)]()
    if folder is None:
        made = ", ".join(repr(each.value) for each in _MADE)
        raise FileFormatError(f"Set {name!r} is read from files: name its folder. Only {made} need none.")
    return _OPENERS[SetName(name)](Path(folder))


def _open_stanford(folder: Path) -> Dataset:
    pack = folder / "stanford.npz"
    return PackSet("stanford", [pack]) if pack.is_file() else stanford.open_stanford(folder)


def _open_faust(name: SetName) -> Callable[[Path], Dataset]:
    in_meters = name is SetName.FAUST_METERS

    def open_scans(folder: Path) -> Dataset:
        pack = folder / "faust.npz"
        if pack.is_file():
            return PackSet(name.value, [pack], in_meters=in_meters, one_label="person")
        return faust.open_faust(folder, in_meters=in_meters)

    return open_scans


def _open_modelnet40(split: Split) -> Callable[[Path], Dataset]:
    def open_split(folder: Path) -> Dataset:
        pack = folder / "modelnet40.npz"
        if pack.is_file():
            return PackSet(f"modelnet40-{split}", [pack], split=split.value)
        return modelnet40.open_modelnet40(folder, split)

    return open_split


def _open_packs(name: SetName, files: tuple[str, ...], validation: bool | None) -> Callable[[Path], Dataset]:
    def open_packs(folder: Path) -> Dataset:
        return PackSet(name.value, [_require_pack(folder / file) for file in files], validation=validation)

    return open_packs


def _require_pack(path: Path) -> Path:
    if not path.is_file():
        raise FileFormatError(
            f"Expected the pack {path.name} in {path.parent}, found none. Packs hold 'points' (shapes, N, "
            f"3) as int16 / 32767, 'names' and 'labels' in one .npz; write your own like this, or use set 'folder'."
        )
    return path


_MADE: dict[SetName, Callable[[], Dataset]] = {
    SetName.PROCEDURAL: ProceduralSet,
    SetName.SCAN_TRAIN: partial(scan_procedural, SetName.SCAN_TRAIN.value, seed=11),
    SetName.SCAN_VALIDATION: partial(scan_procedural, SetName.SCAN_VALIDATION.value, seed=12),
}
_OPEN_FILES = ("train_open_0.npz", "train_open_1.npz", "train_open_2.npz")
_OPENERS: dict[SetName, Callable[[Path], Dataset]] = {
    SetName.STANFORD: _open_stanford,
    SetName.FAUST: _open_faust(SetName.FAUST),
    SetName.FAUST_METERS: _open_faust(SetName.FAUST_METERS),
    SetName.MODELNET40_TEST: _open_modelnet40(Split.TEST),
    SetName.MODELNET40_TRAIN: _open_modelnet40(Split.TRAIN),
    SetName.OPEN_TRAIN: _open_packs(SetName.OPEN_TRAIN, _OPEN_FILES, False),
    SetName.OPEN_VALIDATION: _open_packs(SetName.OPEN_VALIDATION, _OPEN_FILES, True),
    SetName.RESEARCH: _open_packs(SetName.RESEARCH, ("train_research.npz",), None),
    SetName.FOLDER: FolderSet,
}
