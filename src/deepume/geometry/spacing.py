"""How far apart the points of a cloud are, and the area that each stands for."""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor

from deepume.geometry.neighbors import gather_points, k_nearest, neighbor_indices
from deepume.transform import Points, Source


def point_spacing(points: Points) -> Float[Tensor, "*batch"]:
    """Mean distance from a point to its nearest neighbor in the same cloud.

    For points drawn at random from a surface, this is also the expected distance from one drawing to the
    nearest point of another of equal density: the floor of every nearest-neighbor distance.
    """
    both = gather_points(points, neighbor_indices(points, points, 2)) - points.unsqueeze(-2)
    return torch.linalg.vector_norm(both, dim=-1).amax(-1).mean(-1)  # the other of the two is the point itself


def area_weights(points: Points, neighbors: int = 8, clip: float = 5.0) -> Float[Tensor, "*batch N"]:
    """Share of the surface that each point stands for, of sum 1: squared distance to the k-th neighbor.

    Weighted by it, a sum over points approximates an integral over the surface, whatever the density. Weights
    are clipped to ``clip`` times the median either way, or a stray point would outweigh the object.
    """
    k = min(neighbors, points.shape[-2] - 1)
    areas = k_nearest(points, points, k + 1).distances[..., -1].square()
    median = areas.median(-1, keepdim=True).values.clamp_min(torch.finfo(points.dtype).tiny)
    clipped = (areas / median).clamp(1 / clip, clip)
    return clipped / clipped.sum(-1, keepdim=True)


NEIGHBOR_SPREAD = 0.523
"""Standard deviation over mean of the distance to the nearest of points strewn at random on a surface."""


def sampling_distance(points: Source) -> Float[Tensor, "*batch"]:
    """Point spacing, kept above rounding: a cloud of repeated points has none."""
    return torch.maximum(point_spacing(points), 1e-9 * points.abs().amax((-2, -1)))
