"""A cloud on its own: checks, center and size, subsampling, and the area that each point stands for."""

from __future__ import annotations

import torch
from jaxtyping import Float, Int
from torch import Tensor

from deepume.arrays import Array, namespace, take_along
from deepume.errors import CloudShapeError, CloudValueError
from deepume.geometry.neighbors import squared_distance_factors
from deepume.transform import Points, Vectors

MIN_POINTS = 3
"""Fewer points than this leave the rotation of any rigid body undetermined."""
LARGEST = 1e150
"""Coordinates beyond this overflow when squared; extents below its inverse vanish."""


def check_cloud(points: Tensor, name: str) -> None:
    """Raise an error that names the remedy unless ``points`` is a cloud from which a pose can be found."""
    if points.dim() < 2 or points.shape[-1] != 3:
        columns = " Columns of points? Pass points.mT." if points.dim() > 1 and points.shape[-2] == 3 else ""
        raise CloudShapeError(f"{name} must have shape (..., N, 3), got {tuple(points.shape)}.{columns}")
    if points.shape[-2] < MIN_POINTS:
        raise CloudValueError(
            f"{name} has {points.shape[-2]} points; at least {MIN_POINTS} that are not on one line are needed."
        )
    bad = int((~torch.isfinite(points)).any(-1).sum())
    if bad:
        raise CloudValueError(
            f"{name} has {bad} of {points.shape[:-1].numel()} points with NaN or infinite coordinates. "
            "Remove them first, or pass drop_invalid=True (--drop-invalid)."
        )
    _check_extent(points, name)


def _check_extent(points: Points, name: str) -> None:
    """A cloud must be more than a point and more than a line, beyond what rounding makes of them."""
    largest = points.double().abs().amax((-2, -1))
    if bool((largest > LARGEST).any()):
        raise CloudValueError(f"{name} has coordinates beyond {LARGEST:g}, too large to square. Choose a larger unit.")
    spread = center(points.double())
    size = spread.abs().amax((-2, -1))
    rounding = torch.finfo(points.dtype).eps * largest
    if bool((size <= 4 * rounding).any()):
        raise CloudValueError(f"{name}: all points are equal (to rounding), so no rotation can be found.")
    if bool((size < 1 / LARGEST).any()):
        raise CloudValueError(f"{name} is smaller than {1 / LARGEST:g}, too small to square. Choose a smaller unit.")
    width = torch.linalg.svdvals(spread / size[..., None, None])
    noise = (rounding / size) * points.shape[-2] ** 0.5
    if bool((width[..., 1] <= torch.maximum(1e-6 * width[..., 0], noise)).any()):
        raise CloudValueError(
            f"{name}: all points lie on one line, which leaves the rotation about it undetermined. "
            "Add points beside the line."
        )


def centroid(points: Points, weights: Float[Array, "*batch N"] | None = None) -> Vectors:
    """Mean of the points; with weights (of sum 1), their weighted sum."""
    return points.mean(-2) if weights is None else (weights[..., None] * points).sum(-2)


def center(points: Points) -> Points:
    """The cloud moved so that its centroid is the origin."""
    return points - centroid(points)[..., None, :]


def rms_radius(points: Points) -> Float[Array, "*batch"]:
    """Root mean square distance from the centroid: the size of a cloud, steadier than its farthest point."""
    offsets = center(points)
    return (offsets * offsets).sum(-1).mean(-1) ** 0.5


def to_unit_sphere(points: Points) -> Points:
    """The cloud centered and scaled so that its farthest point is at distance 1."""
    centered = center(points)
    return centered / torch.linalg.vector_norm(centered, dim=-1).amax(-1)[..., None, None]


def subsample_random(points: Points, count: int, *, generator: torch.Generator) -> Float[Tensor, "*batch K 3"]:
    """``count`` points drawn without replacement, another drawing for each cloud of a batch."""
    keys = torch.rand(points.shape[:-1], generator=generator, device=generator.device)
    return _take(points, keys.argsort(-1)[..., :count].to(points.device))


def subsample_farthest(points: Points, count: int) -> Float[Array, "*batch K 3"]:
    """``count`` points spread evenly: each next one is the farthest from those taken.

    Starts at the point farthest from the centroid, so the choice moves with the cloud and does not depend on
    the order of the points.
    """
    if count >= points.shape[-2]:
        return points
    return _take(points, _farthest_indices(center(points), count))


def _farthest_indices(points: Points, count: int) -> Int[Array, "*batch count"]:
    """Squared distances as |p|^2 + |q|^2 - 2 p.q, one small product a step: twice as fast as differences."""
    xp, squares = namespace(points), (points * points).sum(-1)
    rows, columns = squared_distance_factors(points, points)
    chosen = [xp.argmax(squares, axis=-1)[..., None]]
    gaps = xp.full_like(squares, xp.inf)
    for _ in range(count - 1):
        distances = (rows @ take_along(columns, chosen[-1][..., None], -2).mT).squeeze(-1)
        gaps = xp.minimum(gaps, distances)
        chosen.append(xp.argmax(gaps, axis=-1)[..., None])
    return xp.concat(chosen, axis=-1)


def subsample_voxel(points: Float[Tensor, "N 3"], size: float) -> Float[Tensor, "K 3"]:
    """One point, the mean, for each occupied cell of a grid of the given cell size."""
    cells = torch.floor((points - points.amin(-2)) / size).long()
    _, cell_of_point, counts = torch.unique(cells, dim=0, return_inverse=True, return_counts=True)
    sums = points.new_zeros(len(counts), 3).index_add_(0, cell_of_point, points)
    return sums / counts.unsqueeze(-1)


def _take(points: Points, indices: Int[Array, "*batch K"]) -> Float[Array, "*batch K 3"]:
    return take_along(points, indices[..., None], -2)
