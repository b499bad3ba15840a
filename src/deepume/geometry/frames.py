"""Principal frames and normals: directions that belong to the cloud itself and turn with it."""

from __future__ import annotations

from functools import cache
from itertools import permutations, product
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from deepume.geometry.clouds import centroid
from deepume.geometry.neighbors import gather_points, neighbor_indices
from deepume.transform import (
    Points,
    RigidTransform,
    Rotations,
    Vectors,
    motion_between,
)

NORMAL_NEIGHBORS = 10
"""Nearest points that give a point its normal; with fewer, samplings of a surface have no common normals."""


class Frame(NamedTuple):
    """A right-handed frame: ``local = (points - centroid) @ axes``, back with ``local @ axes.mT + centroid``."""

    axes: Rotations
    """Columns are the principal axes, largest variance first; ``det = +1``."""
    centroid: Vectors
    """Origin of the frame."""
    variances: Vectors
    """Variance along each axis, in the same order."""

    def to_local(self, points: Points) -> Points:
        """Coordinates in this frame."""
        return (points - self.centroid.unsqueeze(-2)) @ self.axes

    def about_middle(self, points: Points) -> Frame:
        """The same axes, with the origin halfway between the outermost points along each of them."""
        local = self.to_local(points)
        middle = (local.amin(-2) + local.amax(-2)) / 2
        return self._replace(centroid=self.centroid + (self.axes @ middle.unsqueeze(-1)).squeeze(-1))

    def eigenvalue_gaps(self) -> Float[Tensor, "*batch 2"]:
        """:func:`eigenvalue_gaps` of its variances."""
        return eigenvalue_gaps(self.variances)


def principal_frame(points: Points, weights: Float[Tensor, "*batch N"] | None = None) -> Frame:
    r"""Principal axes of a cloud (paper, section 3: :math:`H = \sum p\,p^\top`), with signs that turn with it.

    Rotating the cloud rotates the axes: ``principal_frame(points @ R.mT).axes == R @ principal_frame(points).axes``.
    Each of the two axes with the most skewed coordinates points to its longer tail; the third completes a
    right-handed frame. Where a coordinate has no skew (mirror symmetry) its sign, and where two variances are
    equal their axes, are arbitrary: the candidates of :mod:`deepume.geometry.rotation_grids` cover those choices.

    Differs from the paper: there the axes come smallest variance first, with arbitrary signs.
    """
    origin = centroid(points, weights)
    offsets = points - origin.unsqueeze(-2)
    share = offsets.new_full(offsets.shape[:-1], 1 / points.shape[-2]) if weights is None else weights
    covariance = (share.unsqueeze(-1) * offsets).mT @ offsets
    variances, axes = torch.linalg.eigh(covariance)
    axes = _orient(offsets, share, axes.flip(-1))
    return Frame(axes, origin, variances.flip(-1).clamp_min(0))


def principal_variances(points: Points) -> Vectors:
    """Variances along the principal axes, largest first, without the axes."""
    offsets = points - centroid(points).unsqueeze(-2)
    return torch.linalg.eigvalsh(offsets.mT @ offsets / points.shape[-2]).flip(-1).clamp_min(0)


def eigenvalue_gaps(variances: Vectors) -> Float[Tensor, "*batch 2"]:
    """1 - second/first and 1 - third/second variance; near 0, two axes are interchangeable."""
    larger = variances[..., :2].clamp_min(torch.finfo(variances.dtype).tiny)
    return 1 - variances[..., 1:] / larger


def revolution_axes(source: Frame, target: Frame, *, alike: float) -> list[int]:
    """Axes about which variances differ by less than the part ``alike`` in both frames, so that sampling decides."""
    gaps = torch.maximum(source.eigenvalue_gaps(), target.eigenvalue_gaps())
    return [axis for axis, gap in ((2, gaps[0]), (0, gaps[1])) if float(gap) < alike]


def _orient(offsets: Points, share: Float[Tensor, "*batch N"], axes: Rotations) -> Rotations:
    """Fix the signs of the axes by the skewness of the coordinates along them."""
    local = offsets @ axes
    second = (share.unsqueeze(-1) * local.square()).sum(-2).clamp_min(torch.finfo(local.dtype).tiny)
    skewness = (share.unsqueeze(-1) * local**3).sum(-2) / second**1.5
    axes = axes * torch.where(skewness < 0, -1.0, 1.0).to(axes).unsqueeze(-2)
    least = skewness.abs().argmin(-1, keepdim=True)
    handedness = torch.linalg.det(axes).sign().unsqueeze(-1)
    signs = torch.ones_like(skewness).scatter(-1, least, handedness)
    return axes * signs.unsqueeze(-2)


def local_normals(points: Points, neighbors: int = NORMAL_NEIGHBORS) -> Points:
    """Unit normal at each point, of arbitrary sign: the direction of least variance of its neighborhood."""
    k = min(neighbors, points.shape[-2])
    around = gather_points(points, neighbor_indices(points, points, k))
    offsets = around - around.mean(-2, keepdim=True)
    return torch.linalg.eigh(offsets.mT @ offsets).eigenvectors[..., 0]


@cache
@torch.inference_mode(False)
def sign_changes() -> Float[Tensor, "4 3 3"]:
    """The four proper sign patterns of three axes: the identity and the three half turns."""
    return axis_exchanges()[[_is_diagonal(matrix) for matrix in axis_exchanges()]]


@cache
@torch.inference_mode(False)
def axis_exchanges() -> Float[Tensor, "24 3 3"]:
    """All proper permutations and sign changes of three axes: the rotation group of the cube, identity first."""
    matrices = signed_permutations()
    proper = matrices[torch.linalg.det(matrices) > 0]
    by_angle = torch.argsort(-proper.diagonal(dim1=-2, dim2=-1).sum(-1), dim=-1, stable=True)
    return proper[by_angle]


def paper_sign_changes() -> Float[Tensor, "8 3 3"]:
    """The paper's eight sign patterns, four of them *reflections*; for its reproduction only.

    On a body with a mirror plane a reflected frame can win, and no rotation recovers from that.
    """
    patterns = torch.tensor(list(product((1.0, -1.0), repeat=3)), dtype=torch.float64)
    return torch.diag_embed(patterns)


def signed_permutations() -> Float[Tensor, "48 3 3"]:
    """All permutations and sign changes of three axes, proper or not."""
    rows = torch.eye(3, dtype=torch.float64)
    ordered = torch.stack([rows[list(order)] for order in permutations(range(3))])
    return (paper_sign_changes()[:, None] @ ordered[None]).flatten(0, 1)


def _is_diagonal(matrix: Tensor) -> bool:
    return bool(matrix.diagonal().abs().sum() == 3)


def frame_rotations(source: Frame, target: Frame, exchanges: Float[Tensor, "K 3 3"]) -> Float[Tensor, "*batch K 3 3"]:
    """Rotations that carry the source's frame to the target's, up to each exchange of axes: ``A_t E A_s^T``."""
    return target.axes.unsqueeze(-3) @ exchanges.to(source.axes) @ source.axes.mT.unsqueeze(-3)


def frame_poses(source: Frame, target: Frame, exchanges: Float[Tensor, "K 3 3"]) -> RigidTransform:
    """Poses ``(*batch, K)`` that carry the source's frame, origin included, to the target's."""
    return poses_about(frame_rotations(source, target, exchanges), source.centroid, target.centroid)


def poses_about(
    rotations: Float[Tensor, "*batch K 3 3"], source_origin: Vectors, target_origin: Vectors
) -> RigidTransform:
    """Poses with the given rotations that carry one origin to the other: ``t = o_t - R o_s``."""
    return motion_between(source_origin.unsqueeze(-2), target_origin.unsqueeze(-2), rotations)
