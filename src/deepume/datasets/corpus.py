"""Packs of shapes: one ``.npz`` per collection, int16 points in the unit sphere, read once on first use."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from deepume.datasets.pairs.seeds import fraction_for
from deepume.errors import FileFormatError

VALIDATION_SHARE = 0.05
"""Share of the open training shapes held out to decide on; see :func:`is_validation`."""
STEPS = 32767
"""int16 steps to a unit of length."""


def is_validation(shape_name: str) -> bool:
    """True for the held-out shapes: those whose name hashes into the first 5 % of the range.

    Only the name decides, so that the split is the same whatever the order of the files, and stays when shapes are
    added. Never the test sets: it divides the open training shapes only.
    """
    return fraction_for(f"validation/{shape_name}") < VALIDATION_SHARE


class PackSet:
    """Shapes of one or several packs, as a :class:`~deepume.datasets.pairs.keys.Dataset`.

    A pack holds ``points`` (n, N, 3), or (total, 3) with ``offsets`` where shapes differ in size, and
    ``names``; ``labels``, ``split``, ``center`` and ``scale`` where they make sense.
    """

    def __init__(
        self,
        name: str,
        paths: list[Path],
        *,
        split: str | None = None,
        validation: bool | None = None,
        in_meters: bool = False,
        one_label: str | None = None,
    ) -> None:
        """Shapes of ``split``, or of one side of the validation split; ``in_meters`` undoes the scaling."""
        self.name = name
        self._paths = paths
        self._split = split
        self._validation = validation
        self._in_meters = in_meters
        self._one_label = one_label

    def __len__(self) -> int:
        return len(self._members)

    def cloud(self, index: int) -> Float[Tensor, "N 3"]:
        """All points of a shape in the unit sphere (or in meters), float64."""
        pack, row = self._members[index]
        points = torch.from_numpy(pack.points(row)).double() / STEPS
        return pack.to_meters(points, row) if self._in_meters else points

    def as_tensor(self, *, dtype: torch.dtype = torch.float32) -> Float[Tensor, "S N 3"]:
        """All shapes as one tensor, for training; every shape must have the same number of points."""
        clouds = [torch.from_numpy(pack.points(row)) for pack, row in self._members]
        if len({len(cloud) for cloud in clouds}) != 1:
            raise FileFormatError(f"The shapes of {self.name!r} differ in size: read them one by one, by cloud.")
        return torch.stack(clouds).to(dtype) / STEPS

    def label(self, index: int) -> str:
        """Class of a shape."""
        pack, row = self._members[index]
        return self._one_label or pack.label(row)

    def shape_name(self, index: int) -> str:
        """Name of a shape, usually the file it came from."""
        pack, row = self._members[index]
        return pack.names[row]

    @cached_property
    def _members(self) -> list[tuple[_Pack, int]]:
        packs = [_Pack(path) for path in self._paths]
        return [(pack, row) for pack in packs for row in range(len(pack.names)) if self._is_member(pack, row)]

    def _is_member(self, pack: _Pack, row: int) -> bool:
        if self._split is not None:
            return pack.column("split")[row] == self._split
        return self._validation is None or is_validation(pack.names[row]) == self._validation


class _Pack:
    """One file; its arrays are decompressed on first use and kept."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._columns: dict[str, np.ndarray] = {}
        with np.load(path) as file:
            self._known = frozenset(file.files)

    @cached_property
    def names(self) -> list[str]:
        return [str(name) for name in self.column("names")]

    def column(self, key: str) -> np.ndarray:
        if key not in self._columns:
            if key not in self._known:
                raise FileFormatError(
                    f"{self._path} has no array {key!r}, only {sorted(self._known)}. It is not a pack of "
                    f"shapes, or one from before {key!r} was added: fetch it again."
                )
            with np.load(self._path) as file:
                self._columns[key] = file[key]
        return self._columns[key]

    def points(self, row: int) -> np.ndarray:
        if "offsets" not in self._known:
            return self.column("points")[row]
        start, stop = self.column("offsets")[row : row + 2]
        return self.column("points")[start:stop]

    def label(self, row: int) -> str:
        return str(self.column("labels")[row]) if "labels" in self._known else object_of(self.names[row])

    def to_meters(self, points: Float[Tensor, "N 3"], row: int) -> Float[Tensor, "N 3"]:
        return points * float(self.column("scale")[row]) + torch.from_numpy(self.column("center")[row])


def object_of(scan: str) -> str:
    """Object that a scan shows, the first word of its name: ``dragonStandRight_0`` shows ``dragon``."""
    head = scan[:1].lower() + scan[1:]
    length = next((i for i, letter in enumerate(head) if not letter.islower()), len(head))
    return head[:length] or scan
