"""``deepume info``."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import tyro

from deepume.cli.exits import Exit
from deepume.io import describe_file


@dataclass(frozen=True)
class Info:
    """Say what is in a file: format, points, triangles, extents, invalid and repeated points."""

    file: tyro.conf.Positional[Path]
    """A cloud or a mesh."""

    def run(self) -> Exit:
        """Print a line for each fact."""
        summary = describe_file(self.file)
        facts = {
            "format": summary.format,
            "kind": f"mesh of {summary.faces:,} triangles" if summary.is_mesh else "point cloud",
            "vertices" if summary.is_mesh else "points": f"{summary.points:,}",
            "x": f"{summary.minimum[0]:.6g} to {summary.maximum[0]:.6g}",
            "y": f"{summary.minimum[1]:.6g} to {summary.maximum[1]:.6g}",
            "z": f"{summary.minimum[2]:.6g} to {summary.maximum[2]:.6g}",
            "not finite": f"{summary.nonfinite:,}",
            "repeated": f"{summary.duplicates:,}",
        }
        for name, value in facts.items():
            print(f"{name:<12}{value}")
        return Exit.SURE
