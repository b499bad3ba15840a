"""What a file holds, for ``deepume info``."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from deepume.io.contents import Geometry


@dataclass(frozen=True, slots=True)
class FileSummary:
    """Counts and extents of a file, read but not sampled."""

    format: str
    """Name of the format."""
    points: int
    """Points of a cloud, vertices of a mesh; STL repeats a vertex for every triangle it belongs to."""
    faces: int
    """Triangles; 0 for a cloud."""
    minimum: tuple[float, float, float]
    """Smallest x, y and z of the finite points, not-a-number when there are none."""
    maximum: tuple[float, float, float]
    """Largest x, y and z of the finite points."""
    nonfinite: int
    """Points with a coordinate that is infinite or not a number."""
    duplicates: int
    """Finite points that repeat an earlier one exactly."""

    @property
    def is_mesh(self) -> bool:
        """True when the file has triangles, so that reading it draws points."""
        return self.faces > 0


def summarize(geometry: Geometry, name: str) -> FileSummary:
    """Count and measure."""
    finite = geometry.vertices[np.isfinite(geometry.vertices).all(-1)]
    extents = np.stack([finite.min(0), finite.max(0)]) if len(finite) else np.full((2, 3), np.nan)
    minimum, maximum = ((x, y, z) for x, y, z in extents.tolist())
    return FileSummary(
        format=name,
        points=len(geometry.vertices),
        faces=len(geometry.faces),
        minimum=minimum,
        maximum=maximum,
        nonfinite=len(geometry.vertices) - len(finite),
        duplicates=len(finite) - len(np.unique(finite, axis=0)),
    )
