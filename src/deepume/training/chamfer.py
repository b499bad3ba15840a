"""Chamfer distances of many pairs at once, for losses: brute force on the device of the clouds.

The ranking is done in float32, not in bfloat16: rounding to 8 bits moves a unit sphere's points by more than the
spacing of 1,024 points, and the matrix (1 GB at 256 x 1,024 x 1,024) costs its memory traffic either way.
"""

from __future__ import annotations

import torch
from jaxtyping import Float, Int
from torch import Tensor

from deepume.distances import full_precision, squared_distance_factors
from deepume.training.recipe import LossDistance
from deepume.types import Source, Target

Indices = tuple[Int[Tensor, "*batch N"], Int[Tensor, "*batch M"]]


def chamfer_loss(source: Source, target: Target, distance: LossDistance) -> Float[Tensor, "*batch"]:
    """Mean distance to the nearest target point plus the mean the other way, differentiable in both clouds.

    The nearest points are chosen without gradient, the offsets to them are exact differences: no digits are lost
    near zero.
    """
    with full_precision(source):
        source, target = source.float(), target.float()
        onto_target, onto_source = nearest_indices(source, target)
        forward = source - _rows(target, onto_target)
        backward = target - _rows(source, onto_source)
        return _mean_length(forward, distance) + _mean_length(backward, distance)


@torch.no_grad()
def nearest_indices(source: Source, target: Target) -> Indices:
    """Nearest target point of each source point and the reverse, from one matrix of squared distances."""
    rows, columns = squared_distance_factors(source, target)
    squared = rows @ columns.mT
    return squared.argmin(-1), squared.argmin(-2)


def _rows(points: Float[Tensor, "*batch M 3"], indices: Int[Tensor, "*batch N"]) -> Float[Tensor, "*batch N 3"]:
    return torch.take_along_dim(points, indices.unsqueeze(-1), dim=-2)


def _mean_length(offsets: Float[Tensor, "*batch N 3"], distance: LossDistance) -> Float[Tensor, "*batch"]:
    if distance is LossDistance.SQUARED:
        return offsets.square().sum(-1).mean(-1)
    return torch.linalg.vector_norm(offsets, dim=-1).mean(-1)
