"""ModelNet40 in its two usual forms: HDF5 (``..._ply_hdf5_2048``) and text (``..._normal_resampled``)."""

from __future__ import annotations

from enum import StrEnum
from functools import cached_property
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from deepume.errors import FileFormatError
from deepume.geometry.clouds import to_unit_sphere
from deepume.io import import_package

REMEDY = (
    "ModelNet40 is at https://shapenet.cs.stanford.edu/media as modelnet40_ply_hdf5_2048.zip (HDF5) or "
    "modelnet40_normal_resampled.zip (text). Unpack either and name its folder."
)
"""Where to get the set."""


class Split(StrEnum):
    """The official halves of the set."""

    TRAIN = "train"
    TEST = "test"


class Hdf5ModelNet40:
    """Clouds of 2,048 points in the order of ``train_files.txt`` or ``test_files.txt``, never of the disk."""

    def __init__(self, folder: Path, split: Split) -> None:
        """Index the files that the list of the split names."""
        self.name = f"modelnet40-{split}"
        listed = _read_lines(folder / f"{split}_files.txt")
        self._files = [_require_file(folder / Path(line).name) for line in listed]
        self._classes = folder / "shape_names.txt"

    def __len__(self) -> int:
        return len(self._labels)

    def cloud(self, index: int) -> Float[Tensor, "N 3"]:
        """Points of a shape, centered in the unit sphere as stored."""
        return torch.from_numpy(self._points[index]).double()

    def label(self, index: int) -> str:
        """Class of a shape; its number where ``shape_names.txt`` is not there."""
        number = int(self._labels[index])
        return self._names[number] if number < len(self._names) else str(number)

    def shape_name(self, index: int) -> str:
        """Class and index: the files hold no names."""
        return f"{self.label(index)}_{index:05d}"

    @cached_property
    def _names(self) -> list[str]:
        return _read_lines(self._classes) if self._classes.is_file() else []

    @cached_property
    def _points(self) -> np.ndarray:
        return np.concatenate([_read_hdf5(file, "data") for file in self._files]).astype(np.float32)

    @cached_property
    def _labels(self) -> np.ndarray:
        return np.concatenate([_read_hdf5(file, "label").reshape(-1) for file in self._files])


class TextModelNet40:
    """One text file per shape, ``x,y,z,nx,ny,nz`` per line, in the order of ``modelnet40_train.txt``."""

    def __init__(self, folder: Path, split: Split) -> None:
        """Index the shapes that the list of the split names."""
        self.name = f"modelnet40-{split}"
        self._folder = folder
        self._shapes = _read_lines(folder / f"modelnet40_{split}.txt")

    def __len__(self) -> int:
        return len(self._shapes)

    def cloud(self, index: int) -> Float[Tensor, "N 3"]:
        """Points of a shape in the unit sphere."""
        path = _require_file(self._folder / self.label(index) / f"{self._shapes[index]}.txt")
        rows = np.loadtxt(path, delimiter=",", usecols=(0, 1, 2), ndmin=2)
        return to_unit_sphere(torch.from_numpy(rows))

    def label(self, index: int) -> str:
        """Class of a shape: its name without the number."""
        return self._shapes[index].rpartition("_")[0]

    def shape_name(self, index: int) -> str:
        """Name of a shape, such as ``airplane_0001``."""
        return self._shapes[index]


def open_modelnet40(folder: Path, split: Split) -> Hdf5ModelNet40 | TextModelNet40:
    """The split in whichever form ``folder`` holds."""
    if (folder / f"{split}_files.txt").is_file():
        return Hdf5ModelNet40(folder, split)
    if (folder / f"modelnet40_{split}.txt").is_file():
        return TextModelNet40(folder, split)
    raise FileFormatError(
        f"Neither {split}_files.txt (HDF5 form) nor modelnet40_{split}.txt (text form) in {folder}. {REMEDY}"
    )


def _read_lines(path: Path) -> list[str]:
    return [line.strip() for line in _require_file(path).read_text().splitlines() if line.strip()]


def _require_file(path: Path) -> Path:
    if not path.is_file():
        raise FileFormatError(f"{path} is missing. {REMEDY}")
    return path


def _read_hdf5(path: Path, key: str) -> np.ndarray:
    h5py = import_package("h5py", "deepume[modelnet]")
    with h5py.File(path, "r") as file:
        return np.asarray(file[key])
