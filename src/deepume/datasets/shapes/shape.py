"""Procedural shapes by family: random proportions, exact surface, known rotation symmetry."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from deepume.datasets.shapes.families import FAMILIES
from deepume.datasets.shapes.meshes import Mesh
from deepume.datasets.shapes.parameters import Draw
from deepume.datasets.shapes.symmetry_groups import SymmetryGroup
from deepume.errors import require_known


@dataclass(frozen=True, slots=True)
class Shape:
    """A surface in the unit sphere about its own centroid, z up, and the rotations that leave it as it is."""

    family: str
    """Name of the family it was drawn from."""
    mesh: Mesh
    """The surface; parts may overlap."""
    symmetry: SymmetryGroup
    """Its rotation symmetry, exact up to the facets of round parts."""

    def sample(self, n: int, *, generator: torch.Generator) -> Float[Tensor, "n 3"]:
        """n points uniform over the area of the surface, float64."""
        return self.mesh.sample(n, generator=generator)


def list_families() -> list[str]:
    """Names of all families, sorted."""
    return sorted(FAMILIES)


def make_shape(family: str, *, generator: torch.Generator) -> Shape:
    """A shape of a family; the generator's state decides all its proportions, alike on every machine."""
    require_known("shape family", family, list_families())
    mesh, symmetry = FAMILIES[family](Draw(generator))
    return Shape(family, mesh.to_unit_sphere(), symmetry)
