"""Distances between whole clouds, built from nearest points: Chamfer and Hausdorff distances."""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor

from deepume.geometry.neighbors import (
    GPU_BLOCK_ELEMENTS,
    flatten_batch,
    full_precision,
    has_kernels,
    nearest_both_ways,
    squared_distance_factors,
)
from deepume.transform import Source, Target

CACHE_ELEMENTS = 1 << 20
"""Entries of a distance matrix on CPU that are read again soon enough to be in the cache still."""


def chamfer(source: Source, target: Target) -> Float[Tensor, "*batch"]:
    r"""Chamfer distance as the paper's text defines it, with un-squared norms.

    .. math:: d_C = \frac1N \sum_p \min_q \|p - q\| + \frac1M \sum_q \min_p \|p - q\|
    """
    forward, backward = nearest_both_ways(source, target)
    return forward.distances.mean(-1) + backward.distances.mean(-1)


def chamfer_squared(source: Source, target: Target) -> Float[Tensor, "*batch"]:
    """Chamfer distance of the paper's *tables*: as :func:`chamfer`, with squared norms."""
    forward, backward = nearest_both_ways(source, target)
    return forward.distances.square().mean(-1) + backward.distances.square().mean(-1)


def hausdorff(source: Source, target: Target) -> Float[Tensor, "*batch"]:
    """Hausdorff distance as the paper defines it: the *sum* of the two one-way maxima, un-squared norms."""
    forward, backward = nearest_both_ways(source, target)
    return forward.distances.amax(-1) + backward.distances.amax(-1)


def hausdorff_squared(source: Source, target: Target) -> Float[Tensor, "*batch"]:
    """Hausdorff distance of the paper's *tables*: the sum of the two largest squared distances."""
    forward, backward = nearest_both_ways(source, target)
    return forward.distances.square().amax(-1) + backward.distances.square().amax(-1)


@torch.no_grad()
def rank_by_chamfer(
    source: Float[Tensor, "*#batch N 3"], target: Float[Tensor, "*#batch M 3"]
) -> Float[Tensor, "*batch"]:
    """:func:`chamfer_squared` for choosing among poses: without gradient, one distance matrix for both ways.

    Several times faster; exact to the rounding of |p|^2 - 2 p.q + |q|^2 with the target's mean as origin. Clouds
    whose matrix is larger than a block are left to :func:`chamfer_squared`.
    """
    size, limit = source.shape[-2] * target.shape[-2], CACHE_ELEMENTS if source.is_cpu else GPU_BLOCK_ELEMENTS
    if size > 4 * limit:
        return chamfer_squared(source, target)
    batch, source, target = flatten_batch(source, target)
    if has_kernels(source.device):
        from deepume.geometry.nearest_kernel import search_nearest

        both_ways = [search_nearest(*clouds, 1)[0].mean((-2, -1)) for clouds in ((source, target), (target, source))]
        return (both_ways[0] + both_ways[1]).reshape(batch)
    with full_precision(source):
        origin = target.mean(-2, keepdim=True)
        rows, columns = squared_distance_factors(source - origin, target - origin)
        members = max(1, limit // size)
        matrices = (a @ b.mT for a, b in zip(rows.split(members), columns.split(members), strict=True))
        return torch.cat([d.amin(-1).mean(-1) + d.amin(-2).mean(-1) for d in matrices]).reshape(batch)
