"""What a camera sees of a cloud: hidden-point removal (Katz, Tal and Basri 2007)."""

from __future__ import annotations

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from deepume.datasets.pairs.subsets import draw_kept, draw_points, require_points

VIEW_RADII = 3.0
"""Distance of the view point from the centroid, in radii of the cloud."""
FLIP_RADII = 30.0
"""Radius of the spherical flip, in distances to the farthest point: larger sees deeper into concavities."""
POOL = 8
"""At most this many times n points are used: enough to decide what is visible, quick for any scan."""


def occlude(
    cloud: Float[Tensor, "N 3"], n: int, *, generator: torch.Generator
) -> tuple[Float[Tensor, "S 3"], Float[Tensor, "T 3"]]:
    """Source and target without a common point, each what its own random view point sees.

    Each has n points, or all that are visible of its half of the shape where these are fewer.
    """
    require_points(cloud, 2 * n)
    pool = draw_points(cloud, min(cloud.shape[-2], POOL * n), generator=generator)
    is_first = torch.arange(pool.shape[-2], device=pool.device) < pool.shape[-2] // 2
    source = pool[draw_kept(is_first & draw_view(pool, generator=generator), n, generator=generator)]
    target = pool[draw_kept(~is_first & draw_view(pool, generator=generator), n, generator=generator)]
    return source, target


def draw_view(cloud: Float[Tensor, "N 3"], *, generator: torch.Generator) -> Bool[Tensor, " N"]:
    """True where a point is visible from a random view point."""
    axis = torch.randn(3, generator=generator, device=cloud.device, dtype=cloud.dtype)
    centroid = cloud.mean(-2)
    radius = (cloud - centroid).norm(dim=-1).max()
    return find_visible(cloud, centroid + VIEW_RADII * radius * axis / axis.norm())


def find_visible(
    cloud: Float[Tensor, "N 3"], view_point: Float[Tensor, " 3"], *, flip_radii: float = FLIP_RADII
) -> Bool[Tensor, " N"]:
    """True where a point is visible from ``view_point``.

    Points are flipped outward, ``p' = p + 2 (r - |p|) p / |p|`` with p relative to the view point; visible
    are the corners of the convex hull of the flipped points and the view point.
    """
    from scipy.spatial import ConvexHull

    local = cloud - view_point
    distance = local.norm(dim=-1, keepdim=True)
    flipped = local * (2 * flip_radii * distance.max() - distance) / distance
    corners = ConvexHull(torch.cat([flipped, flipped.new_zeros(1, 3)]).cpu().numpy()).vertices
    visible = torch.zeros(len(cloud) + 1, dtype=torch.bool, device=cloud.device)
    visible[torch.as_tensor(corners, dtype=torch.long, device=cloud.device)] = True
    return visible[:-1]
