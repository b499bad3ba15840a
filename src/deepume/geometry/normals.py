"""Normals of the surface that a cloud samples."""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor

from deepume.geometry.neighbors import gather_points, neighbor_indices
from deepume.transform import Points


def local_normals(points: Points, neighbors: int = 10) -> Points:
    """Unit normal at each point, of arbitrary sign: the direction of least variance of its neighborhood."""
    k = min(neighbors, points.shape[-2])
    around = gather_points(points, neighbor_indices(points, points, k))
    offsets = around - around.mean(-2, keepdim=True)
    return torch.linalg.eigh(offsets.mT @ offsets).eigenvectors[..., 0]


def along_normals(
    offsets: Float[Tensor, "*batch N 3"], normals: Float[Tensor, "*batch N 3"], others: Float[Tensor, "*batch N 3"]
) -> Float[Tensor, "*batch N"]:
    """Root mean square of the lengths of an offset along the normals at its two ends."""
    ends = torch.stack([offsets * normals, offsets * others]).sum(-1)
    return ends.square().mean(0).sqrt()
