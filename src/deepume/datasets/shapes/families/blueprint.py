"""What a family returns: a surface, z up, in any unit, and the rotations that leave it as it is."""

from __future__ import annotations

from collections.abc import Callable

from deepume.datasets.shapes.meshes import Mesh
from deepume.datasets.shapes.parameters import Draw
from deepume.datasets.shapes.symmetry_groups import SymmetryGroup, symmetric

Blueprint = tuple[Mesh, SymmetryGroup]
"""Surface and symmetry of one shape."""
Family = Callable[[Draw], Blueprint]
"""A family of shapes: sizes are drawn, the rest is fixed."""

ASYMMETRIC = symmetric()
"""Only the identity leaves the shape as it is; a mirror plane may still be there."""
REVOLUTION = symmetric(("z", 0))
"""Solid of revolution with two different ends."""
