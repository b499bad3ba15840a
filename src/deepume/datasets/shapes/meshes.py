"""Triangle meshes that are built from parts and sampled by area."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import accumulate

import torch
from jaxtyping import Float, Int
from torch import Tensor

from deepume.datasets.shapes.parameters import Number
from deepume.transform import rotation_about_axis


@dataclass(frozen=True, slots=True)
class Mesh:
    """A surface of triangles; ``a + b`` is both surfaces, overlapping or not."""

    vertices: Float[Tensor, "V 3"]
    """Corners, float64."""
    faces: Int[Tensor, "F 3"]
    """Corners of each triangle, as rows of ``vertices``."""

    def __add__(self, other: Mesh) -> Mesh:
        return merge([self, other])

    def move(self, x: Number, y: Number, z: Number) -> Mesh:
        """The mesh shifted."""
        return Mesh(self.vertices + self.vertices.new_tensor([x, y, z]), self.faces)

    def stretch(self, x: Number, y: Number, z: Number) -> Mesh:
        """The mesh scaled along each axis, from the origin."""
        return Mesh(self.vertices * self.vertices.new_tensor([x, y, z]), self.faces)

    def turn(self, axis: int, degrees: Number) -> Mesh:
        """The mesh rotated about coordinate axis 0, 1 or 2 through the origin."""
        angle = self.vertices.new_tensor(math.radians(degrees))
        return Mesh(self.vertices @ rotation_about_axis(axis, angle).mT, self.faces)

    @property
    def corners(self) -> Float[Tensor, "F 3 3"]:
        """The three corners of every triangle, as rows."""
        return self.vertices[self.faces]

    @property
    def areas(self) -> Float[Tensor, " F"]:
        """Area of every triangle."""
        a, b, c = self.corners.unbind(-2)
        return torch.linalg.cross(b - a, c - a).norm(dim=-1) / 2

    @property
    def centroid(self) -> Float[Tensor, " 3"]:
        """Center of mass of the surface, not of any sample of it."""
        areas = self.areas[:, None]
        return (areas * self.corners.mean(-2)).sum(0) / areas.sum()

    def to_unit_sphere(self) -> Mesh:
        """The mesh about its centroid, its farthest point at radius 1."""
        local = self.vertices[self.faces.unique()] - self.centroid
        radius = local.norm(dim=-1).max()
        return Mesh((self.vertices - self.centroid) / radius, self.faces)

    def sample(self, n: int, *, generator: torch.Generator) -> Float[Tensor, "n 3"]:
        """n points uniform over the area: a triangle by its area, then a point uniform in it."""
        draws = torch.rand(n, 3, generator=generator, dtype=self.vertices.dtype)
        sums = self.areas.cumsum(0)
        chosen = torch.searchsorted(sums, draws[:, 0] * sums[-1], right=True).clamp_max(len(sums) - 1)
        a, b, c = self.corners[chosen].unbind(-2)
        root, share = draws[:, 1:2].sqrt(), draws[:, 2:3]
        return (1 - root) * a + root * (1 - share) * b + root * share * c


def merge(parts: list[Mesh]) -> Mesh:
    """All parts as one mesh."""
    starts = [0, *accumulate(len(part.vertices) for part in parts)]
    faces = [part.faces + start for part, start in zip(parts, starts, strict=False)]
    return Mesh(torch.cat([part.vertices for part in parts]), torch.cat(faces))
