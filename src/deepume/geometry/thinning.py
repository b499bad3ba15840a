"""Fewer points of a cloud: at random, evenly spread, one for each cell."""

from __future__ import annotations

import torch
from jaxtyping import Float, Int
from torch import Tensor

from deepume.geometry.clouds import (
    center,
)
from deepume.geometry.neighbors import squared_distance_factors
from deepume.transform import Points


def subsample_random(points: Points, count: int, *, generator: torch.Generator) -> Float[Tensor, "*batch K 3"]:
    """``count`` points drawn without replacement, another drawing for each cloud of a batch."""
    keys = torch.rand(points.shape[:-1], generator=generator, device=generator.device)
    return _take(points, keys.argsort(-1)[..., :count].to(points.device))


def subsample_farthest(points: Points, count: int) -> Float[Tensor, "*batch K 3"]:
    """``count`` points spread evenly: each next one is the farthest from those taken.

    Starts at the point farthest from the centroid, so the choice moves with the cloud and does not depend on
    the order of the points.
    """
    if count >= points.shape[-2]:
        return points
    return _take(points, _farthest_indices(center(points), count))


def _farthest_indices(points: Points, count: int) -> Int[Tensor, "*batch count"]:
    """Squared distances as |p|^2 + |q|^2 - 2 p.q, one small product a step: twice as fast as differences."""
    squares = points.square().sum(-1)
    rows, columns = squared_distance_factors(points, points)
    chosen = [squares.argmax(-1, keepdim=True)]
    gaps = torch.full_like(squares, torch.inf)
    for _ in range(count - 1):
        distances = (rows @ torch.take_along_dim(columns, chosen[-1].unsqueeze(-1), dim=-2).mT).squeeze(-1)
        gaps = torch.minimum(gaps, distances)
        chosen.append(gaps.argmax(-1, keepdim=True))
    return torch.cat(chosen, -1)


def subsample_voxel(points: Float[Tensor, "N 3"], size: float) -> Float[Tensor, "K 3"]:
    """One point, the mean, for each occupied cell of a grid of the given cell size."""
    cells = torch.floor((points - points.amin(-2)) / size).long()
    _, cell_of_point, counts = torch.unique(cells, dim=0, return_inverse=True, return_counts=True)
    sums = points.new_zeros(len(counts), 3).index_add_(0, cell_of_point, points)
    return sums / counts.unsqueeze(-1)


def _take(points: Points, indices: Int[Tensor, "*batch K"]) -> Float[Tensor, "*batch K 3"]:
    return torch.take_along_dim(points, indices.unsqueeze(-1), dim=-2)
