"""What a file or an object holds before it becomes a cloud: vertices, and the triangles of a mesh."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from deepume.errors import CloudValueError

SAMPLE_POINTS = 10_000
"""Points drawn from a mesh: with spacings of about 2 % of the object's size, several times denser than registration
needs, and still quick to search."""


@dataclass(frozen=True, slots=True)
class Geometry:
    """Vertices and triangles; a cloud has no triangles."""

    vertices: Float[np.ndarray, "V 3"]
    """Coordinates, always float64: a survey offset of thousands of kilometers keeps its millimeters."""
    faces: Int[np.ndarray, "F 3"] = field(default_factory=lambda: np.empty((0, 3), np.int64))
    """Vertex numbers of each triangle."""

    def __post_init__(self) -> None:
        """Refuse triangles that name vertices which do not exist."""
        if self.faces.size and not (self.faces.min() >= 0 and self.faces.max() < len(self.vertices)):
            raise CloudValueError(
                f"faces must name vertices 0 to {len(self.vertices) - 1}, "
                f"got {self.faces.min()} to {self.faces.max()}. Rebuild the mesh, or pass only its vertices."
            )

    def points(self, count: int, seed: int) -> Float[Tensor, "N 3"]:
        """The cloud itself, or ``count`` points drawn from the mesh; a mesh without area gives its vertices."""
        if count < 1:
            raise CloudValueError(f"sample_points must be at least 1, got {count}. Leave it out for the default.")
        vertices, faces = torch.from_numpy(self.vertices), torch.from_numpy(self.faces)
        if not triangle_areas(vertices, faces).any():
            return vertices
        return sample_surface(vertices, faces, count, generator=torch.Generator().manual_seed(seed))


def sample_surface(
    vertices: Float[Tensor, "V 3"], faces: Int[Tensor, "F 3"], count: int, *, generator: torch.Generator
) -> Float[Tensor, "N 3"]:
    """Points drawn uniformly by area; the same generator state gives the same points, bit for bit."""
    areas = triangle_areas(vertices, faces).cumsum(0)
    drawn = torch.rand(count, generator=generator, dtype=areas.dtype) * areas[-1]
    corners = vertices[faces[torch.searchsorted(areas, drawn, right=True).clamp(max=len(faces) - 1)]]
    weights = torch.rand(count, 2, 1, generator=generator, dtype=areas.dtype)
    weights = torch.where(weights.sum(-2, keepdim=True) > 1, 1 - weights, weights)
    edges = corners[:, 1:] - corners[:, :1]
    return corners[:, 0] + (weights * edges).sum(-2)


def triangle_areas(vertices: Float[Tensor, "V 3"], faces: Int[Tensor, "F 3"]) -> Float[Tensor, " F"]:
    """Area of each triangle; zero where a corner is not finite, so that it is never drawn."""
    corners = vertices[faces]
    edges = corners[:, 1:] - corners[:, :1]
    areas = torch.linalg.cross(edges[:, 0], edges[:, 1]).norm(dim=-1) / 2
    return torch.where(areas.isfinite(), areas, 0.0)


def merge_geometries(parts: list[Geometry]) -> Geometry:
    """All parts as one. Parts without triangles are dropped once another part has some."""
    solid = [part for part in parts if len(part.faces)] or parts
    if not solid:
        return Geometry(np.empty((0, 3)))
    starts = np.cumsum([0] + [len(part.vertices) for part in solid])
    return Geometry(
        np.concatenate([part.vertices for part in solid]),
        np.concatenate([part.faces + start for part, start in zip(solid, starts, strict=False)]),
    )


def merge_scene(scene: Any) -> Geometry:
    """Every mesh and cloud of a trimesh scene, in the coordinates of the scene."""
    parts = []
    for node in scene.graph.nodes_geometry:
        matrix, name = scene.graph[node]
        vertices = float_rows(scene.geometry[name].vertices)
        faces = np.asarray(getattr(scene.geometry[name], "faces", np.empty((0, 3))), np.int64)
        parts.append(Geometry(vertices @ matrix[:3, :3].T + matrix[:3, 3], faces.reshape(-1, 3)))
    return merge_geometries(parts)


def float_rows(values: Any) -> Float[np.ndarray, "N 3"]:
    """A float64 copy in native, contiguous order; no values at all are zero points."""
    rows = np.array(values, np.float64, order="C")
    return rows if rows.size else rows.reshape(0, 3)
