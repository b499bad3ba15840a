"""Random subsets of the points of a cloud, batched, without a loop over the batch."""

from __future__ import annotations

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from deepume.errors import CloudValueError


def draw_order(cloud: Float[Tensor, "*batch N 3"], *, generator: torch.Generator) -> Int[Tensor, "*batch N"]:
    """An independent uniform permutation for every cloud of the batch."""
    keys = torch.rand(cloud.shape[:-1], generator=generator, device=cloud.device)
    return keys.argsort(dim=-1, stable=True)


def take(cloud: Float[Tensor, "*batch N 3"], index: Int[Tensor, "*batch M"]) -> Float[Tensor, "*batch M 3"]:
    """The points at ``index``, per cloud."""
    return cloud.gather(-2, index[..., None].expand(*index.shape, 3))


def draw_points(
    cloud: Float[Tensor, "*batch N 3"], count: int, *, generator: torch.Generator
) -> Float[Tensor, "*batch M 3"]:
    """``count`` different points of every cloud, in random order; too few points are an error."""
    require_points(cloud, count)
    return take(cloud, draw_order(cloud, generator=generator)[..., :count])


def shuffle(cloud: Float[Tensor, "*batch N 3"], *, generator: torch.Generator) -> Float[Tensor, "*batch N 3"]:
    """The same points in random order."""
    return take(cloud, draw_order(cloud, generator=generator))


def draw_kept(keep: Bool[Tensor, "*batch N"], count: int, *, generator: torch.Generator) -> Int[Tensor, "*batch M"]:
    """Indices of at most ``count`` marked points, drawn uniformly among the marked ones.

    M is ``count``, or less where a cloud of the batch has fewer marked points: the least number in the batch.
    """
    least = min(count, int(keep.sum(-1).min()))
    keys = torch.rand(keep.shape, generator=generator, device=keep.device)
    return (keys + (~keep).to(keys)).argsort(dim=-1, stable=True)[..., :least]


def require_points(cloud: Float[Tensor, "*batch N 3"], count: int) -> None:
    """Raise :class:`CloudValueError` unless a cloud has at least ``count`` points."""
    size = cloud.shape[-2]
    if size < count:
        raise CloudValueError(
            f"This scenario draws {count} points from each shape, but the shape has {size}. "
            f"Use fewer points per cloud (a smaller n), or a denser shape."
        )
