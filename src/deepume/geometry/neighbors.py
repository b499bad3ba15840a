"""Nearest neighbors and the distances between clouds that are built from them.

Indices come from brute force in blocks of bounded memory, for large clouds on CPU from a k-d tree, on GPU from one
kernel. Distances are then measured by direct differences, so all give the same numbers to rounding and gradients flow.
"""

from __future__ import annotations

import math
from importlib.util import find_spec
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from deepume.arrays import Array, namespace
from deepume.transform import Source, Target

BLOCK_ELEMENTS = 1 << 22
"""Most entries of a distance matrix that exist at one time on CPU: 32 MiB in float64."""
GPU_BLOCK_ELEMENTS = 1 << 30
"""The same on GPU, 4 GiB in float32: small blocks leave it idle."""
TREE_ELEMENTS = 1 << 10
"""Distance matrices larger than this are left to a k-d tree on CPU, which is ahead from some 40 points on."""
KERNEL_POINTS = 1 << 12
"""Largest cloud whose distances to one query fit the registers of a GPU kernel."""
THREADED_QUERIES = 1 << 14
"""Fewer tree queries than this are answered by one thread: starting others takes longer."""

HAS_TRITON = find_spec("triton") is not None


class Neighbors(NamedTuple):
    """Nearest points of a cloud, for each query, nearest first."""

    distances: Float[Array, "*batch"]
    """Euclidean distances, differentiable in both clouds."""
    indices: Int[Array, "*batch"]
    """Positions in the cloud that was searched."""


def has_kernels(device: torch.device) -> bool:
    """True on a GPU where Triton is installed, which the kernels are written in."""
    return HAS_TRITON and device.type == "cuda"


def k_nearest(queries: Float[Tensor, "*#batch N 3"], points: Float[Tensor, "*#batch M 3"], k: int) -> Neighbors:
    """The ``k`` nearest points of each query, ``(*batch, N, k)``, nearest first.

    Rigid motions of both clouds together change no index. Equidistant points come in an order that is not
    specified. ``points`` needs at least ``k`` points.
    """
    indices = neighbor_indices(queries, points, k)
    measured = torch.linalg.vector_norm(gather_points(points, indices) - queries.unsqueeze(-2), dim=-1)
    if k == 1:
        return Neighbors(measured, indices)
    # The search ranks by rounded numbers: points that nearly coincide may come in the wrong order.
    distances, order = measured.sort(dim=-1)
    return Neighbors(distances, indices.take_along_dim(order, -1))


def nearest(queries: Float[Tensor, "*#batch N 3"], points: Float[Tensor, "*#batch M 3"]) -> Neighbors:
    """The nearest point of each query, ``(*batch, N)``."""
    distances, indices = k_nearest(queries, points, 1)
    return Neighbors(distances.squeeze(-1), indices.squeeze(-1))


def nearest_both_ways(source: Source, target: Target) -> tuple[Neighbors, Neighbors]:
    """Nearest target point of each source point, and nearest source point of each target point."""
    return nearest(source, target), nearest(target, source)


def gather_points(
    points: Float[Tensor, "*#batch M 3"], indices: Int[Tensor, "*batch N k"]
) -> Float[Tensor, "*batch N k 3"]:
    """Rows of each cloud at the given positions."""
    batch = indices.shape[:-2]
    cloud = points.expand(*batch, *points.shape[-2:])
    # Three times as fast as take_along_dim, which looks through the indices for negative ones.
    rows = cloud.gather(-2, indices.flatten(-2).unsqueeze(-1).expand(*batch, -1, cloud.shape[-1]))
    return rows.unflatten(-2, indices.shape[-2:])


def flatten_batch(
    queries: Float[Tensor, "*#batch N 3"], points: Float[Tensor, "*#batch M 3"]
) -> tuple[torch.Size, Float[Tensor, "B N 3"], Float[Tensor, "B M 3"]]:
    """The common batch of two clouds, and both with that batch as one axis."""
    batch = _common_batch(queries, points)
    flat = [cloud.expand(*batch, *cloud.shape[-2:]).reshape(-1, *cloud.shape[-2:]) for cloud in (queries, points)]
    return batch, flat[0], flat[1]


def _common_batch(queries: Float[Tensor, "*#batch N 3"], points: Float[Tensor, "*#batch M 3"]) -> torch.Size:
    batches = queries.shape[:-2], points.shape[:-2]
    # A call of torch for it takes as long as a search among few points.
    return batches[0] if batches[0] == batches[1] else torch.broadcast_shapes(*batches)


def squared_distance_factors(source: Source, target: Target) -> tuple[Array, Array]:
    """Five columns for each point such that the product of two rows is the squared distance of their points."""
    xp = namespace(source)
    ones = xp.ones_like(source[..., :1]), xp.ones_like(target[..., :1])
    rows = xp.concat([-2 * source, (source * source).sum(-1)[..., None], ones[0]], axis=-1)
    columns = xp.concat([target, ones[1], (target * target).sum(-1)[..., None]], axis=-1)
    return rows, columns


def full_precision(points: Float[Tensor, "..."]) -> torch.autocast:
    """A context without automatic half precision: three digits do not tell neighbors or angles apart."""
    return torch.autocast(points.device.type, enabled=False)


@torch.no_grad()
def neighbor_indices(
    queries: Float[Tensor, "*#batch N 3"], points: Float[Tensor, "*#batch M 3"], k: int
) -> Int[Tensor, "*batch N k"]:
    """Positions of the ``k`` nearest points, by the fastest of three searches that agree to rounding."""
    size = queries.shape[-2] * points.shape[-2]
    search = tree_indices if queries.is_cpu and size > TREE_ELEMENTS else brute_indices
    if has_kernels(queries.device) and (k == 1 or points.shape[-2] <= KERNEL_POINTS):
        search = kernel_indices
    with full_precision(queries):
        return search(queries, points, k)


def kernel_indices(
    queries: Float[Tensor, "*#batch N 3"], points: Float[Tensor, "*#batch M 3"], k: int
) -> Int[Tensor, "*batch N k"]:
    """Compare every query with every point inside one kernel, which keeps no matrix."""
    from deepume.geometry.nearest_kernel import search_nearest

    batch, queries, points = flatten_batch(queries, points)
    return search_nearest(queries, points, k)[1].reshape(*batch, -1, k)


def brute_indices(
    queries: Float[Tensor, "*#batch N 3"], points: Float[Tensor, "*#batch M 3"], k: int
) -> Int[Tensor, "*batch N k"]:
    """Compare every query with every point, in blocks of bounded memory.

    |q - p|^2 is ranked as |p|^2 - 2 q.p, with the cloud's mean as origin: far from the origin this form loses
    the digits that decide.
    """
    origin = points.mean(-2, keepdim=True)
    queries, points = queries - origin, points - origin
    batch = _common_batch(queries, points)
    squares = points.square().sum(-1).unsqueeze(-2)
    limit = BLOCK_ELEMENTS if points.is_cpu else GPU_BLOCK_ELEMENTS
    rows = max(1, limit // max(1, math.prod(batch) * points.shape[-2]))
    blocks = []
    for block in queries.split(rows, dim=-2):
        ranks = squares - 2 * (block @ points.mT)
        nearest_first = ranks.argmin(-1, keepdim=True) if k == 1 else ranks.topk(k, largest=False).indices
        blocks.append(nearest_first.expand(*batch, -1, -1))
    return torch.cat(blocks, dim=-2)


def tree_indices(
    queries: Float[Tensor, "*#batch N 3"], points: Float[Tensor, "*#batch M 3"], k: int
) -> Int[Tensor, "*batch N k"]:
    """Search a k-d tree per cloud, in float64. Loops over the batch: trees cannot be batched.

    Clouds that differ only along the last batch axis of ``queries`` (hypotheses of one pair) share one tree.
    """
    batch = _common_batch(queries, points)
    shared = bool(batch) and (points.dim() == 2 or points.shape[-3] == 1)
    outer = batch[:-1] if shared else batch
    requests = queries.expand(*batch, *queries.shape[-2:]).reshape(math.prod(outer), -1, 3)
    clouds = (points.squeeze(-3) if shared and points.dim() > 2 else points).expand(*outer, *points.shape[-2:])
    found = [
        _search_tree(query, cloud, k)
        for query, cloud in zip(requests, clouds.reshape(-1, *points.shape[-2:]), strict=True)
    ]
    return torch.stack(found).reshape(*batch, queries.shape[-2], k)


def _search_tree(queries: Float[Tensor, "N 3"], points: Float[Tensor, "M 3"], k: int) -> Int[Tensor, "N k"]:
    import small_gicp  # compiled, and needed for large clouds only

    tree = small_gicp.KdTree(_as_doubles(points))
    workers = torch.get_num_threads() if len(queries) >= THREADED_QUERIES else 1
    indices, _ = tree.batch_knn_search(_as_doubles(queries), k, num_threads=workers)
    return torch.from_numpy(indices.view(np.int64)).reshape(len(queries), k)


def _as_doubles(points: Float[Tensor, "N 3"]) -> np.ndarray:
    return points.numpy(force=True).astype(np.float64)
