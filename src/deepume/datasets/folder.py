"""Any folder of meshes or clouds as a data set."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from jaxtyping import Float
from torch import Tensor

from deepume.errors import FileFormatError
from deepume.geometry.clouds import to_unit_sphere
from deepume.io import known_extensions, read_points

SAMPLE_POINTS = 8192
"""Points sampled on a mesh that has faces."""


class FolderSet:
    """Files of a folder and its subfolders in sorted order, each read on request.

    The label of a shape is the folder it lies in, or its own name where all lie in one folder.
    """

    def __init__(
        self,
        folder: Path,
        *,
        name: str = "folder",
        suffixes: tuple[str, ...] | None = None,
        remedy: str = "Name a folder that holds meshes or clouds.",
        label_of: Callable[[str], str] | None = None,
        in_unit_sphere: bool = True,
        sample_points: int = SAMPLE_POINTS,
    ) -> None:
        """Index ``folder`` for files that can be read; ``remedy`` ends the message when there are none."""
        suffixes = known_extensions() if suffixes is None else suffixes
        self.name = name
        self._folder = folder
        self._label_of = label_of
        self._in_unit_sphere = in_unit_sphere
        self._sample_points = sample_points
        found = folder.rglob("*") if folder.is_dir() else ()
        self._files = sorted(path for path in found if path.suffix.lower() in suffixes and path.is_file())
        if not self._files:
            raise FileFormatError(f"No file ending in {', '.join(suffixes)} under {folder}. {remedy}")

    def __len__(self) -> int:
        return len(self._files)

    def cloud(self, index: int) -> Float[Tensor, "N 3"]:
        """Points of a file, or of a surface sample of it, in the unit sphere unless requested otherwise."""
        points = read_points(self._files[index], sample_points=self._sample_points, seed=0)
        return to_unit_sphere(points) if self._in_unit_sphere else points

    def label(self, index: int) -> str:
        """Folder of a file below the set's, or what the file's name says."""
        file = self._files[index]
        if self._label_of is not None:
            return self._label_of(file.stem)
        return file.stem if file.parent == self._folder else file.parent.name

    def shape_name(self, index: int) -> str:
        """Path of a file relative to the folder, with forward slashes."""
        return self._files[index].relative_to(self._folder).as_posix()
