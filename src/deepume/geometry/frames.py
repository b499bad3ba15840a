"""Principal frames and normals: directions that belong to the cloud itself and turn with it."""

from __future__ import annotations

from functools import cache
from itertools import permutations, product
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from deepume.arrays import Array, as_like, namespace, smallest_number
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
        return (points - self.centroid[..., None, :]) @ self.axes

    def about_middle(self, points: Points) -> Frame:
        """The same axes, with the origin halfway between the outermost points along each of them."""
        xp, local = namespace(points), self.to_local(points)
        middle = (xp.min(local, axis=-2) + xp.max(local, axis=-2)) / 2
        return self._replace(centroid=self.centroid + (self.axes @ middle[..., None]).squeeze(-1))

    def eigenvalue_gaps(self) -> Float[Array, "*batch 2"]:
        """:func:`eigenvalue_gaps` of its variances."""
        return eigenvalue_gaps(self.variances)


def principal_frame(points: Points, weights: Float[Array, "*batch N"] | None = None) -> Frame:
    r"""Principal axes of a cloud (paper, section 3: :math:`H = \sum p\,p^\top`), with signs that turn with it.

    Rotating the cloud rotates the axes: ``principal_frame(points @ R.mT).axes == R @ principal_frame(points).axes``.
    Each of the two axes with the most skewed coordinates points to its longer tail; the third completes a
    right-handed frame. Where a coordinate has no skew (mirror symmetry) its sign, and where two variances are
    equal their axes, are arbitrary: the candidates of :mod:`deepume.geometry.rotation_grids` cover those choices.

    Differs from the paper: there the axes come smallest variance first, with arbitrary signs.
    """
    xp, origin = namespace(points), centroid(points, weights)
    offsets = points - origin[..., None, :]
    share = xp.full_like(offsets[..., 0], 1 / points.shape[-2]) if weights is None else weights
    variances, axes = xp.linalg.eigh((share[..., None] * offsets).mT @ offsets)
    axes = _orient(offsets, share, xp.flip(axes, axis=-1))
    return Frame(axes, origin, xp.clip(xp.flip(variances, axis=-1), min=0))


def principal_variances(points: Points) -> Vectors:
    """Variances along the principal axes, largest first, without the axes."""
    xp, offsets = namespace(points), points - centroid(points)[..., None, :]
    variances = xp.linalg.eigvalsh(offsets.mT @ offsets / points.shape[-2])
    return xp.clip(xp.flip(variances, axis=-1), min=0)


def eigenvalue_gaps(variances: Vectors) -> Float[Array, "*batch 2"]:
    """1 - second/first and 1 - third/second variance; near 0, two axes are interchangeable."""
    return 1 - variances[..., 1:] / namespace(variances).clip(variances[..., :2], min=smallest_number(variances))


def revolution_axes(source: Frame, target: Frame, *, alike: float) -> list[int]:
    """Axes about which variances differ by less than the part ``alike`` in both frames, so that sampling decides."""
    gaps = namespace(source.variances).maximum(source.eigenvalue_gaps(), target.eigenvalue_gaps())
    return [axis for axis, gap in ((2, gaps[0]), (0, gaps[1])) if float(gap) < alike]


def _orient(offsets: Points, share: Float[Array, "*batch N"], axes: Rotations) -> Rotations:
    """Fix the signs of the axes by the skewness of the coordinates along them."""
    xp, local = namespace(offsets), offsets @ axes
    second = (share[..., None] * local * local).sum(-2)
    skewness = (share[..., None] * local**3).sum(-2) / xp.clip(second**1.5, min=smallest_number(local))
    axes = axes * as_like(xp.where(skewness < 0, -1.0, 1.0), axes)[..., None, :]
    is_least = xp.argmin(xp.abs(skewness), axis=-1)[..., None] == as_like(np.arange(3), skewness)
    handedness = xp.sign(xp.linalg.det(axes))[..., None]
    return axes * xp.where(is_least, handedness, xp.ones_like(handedness))[..., None, :]


def local_normals(points: Points, neighbors: int = NORMAL_NEIGHBORS) -> Points:
    """Unit normal at each point, of arbitrary sign: the direction of least variance of its neighborhood."""
    k = min(neighbors, points.shape[-2])
    around = gather_points(points, neighbor_indices(points, points, k))
    offsets = around - around.mean(-2)[..., None, :]
    return namespace(points).linalg.eigh(offsets.mT @ offsets)[1][..., 0]


@cache
def sign_changes() -> Float[np.ndarray, "4 3 3"]:
    """The four proper sign patterns of three axes: the identity and the three half turns."""
    return axis_exchanges()[[_is_diagonal(matrix) for matrix in axis_exchanges()]]


@cache
def axis_exchanges() -> Float[np.ndarray, "24 3 3"]:
    """All proper permutations and sign changes of three axes: the rotation group of the cube, identity first."""
    matrices = signed_permutations()
    proper = matrices[np.linalg.det(matrices) > 0]
    by_angle = np.argsort(-np.trace(proper, axis1=-2, axis2=-1), stable=True)
    return proper[by_angle]


def paper_sign_changes() -> Float[np.ndarray, "8 3 3"]:
    """The paper's eight sign patterns, four of them *reflections*; for its reproduction only.

    On a body with a mirror plane a reflected frame can win, and no rotation recovers from that.
    """
    patterns = np.array(list(product((1.0, -1.0), repeat=3)))
    return patterns[:, None] * np.eye(3)


def signed_permutations() -> Float[np.ndarray, "48 3 3"]:
    """All permutations and sign changes of three axes, proper or not."""
    ordered = np.stack([np.eye(3)[list(order)] for order in permutations(range(3))])
    return (paper_sign_changes()[:, None] @ ordered[None]).reshape(-1, 3, 3)


def _is_diagonal(matrix: Float[np.ndarray, "3 3"]) -> bool:
    return bool(np.abs(np.diagonal(matrix)).sum() == 3)


def frame_rotations(source: Frame, target: Frame, exchanges: Float[Array, "K 3 3"]) -> Float[Array, "*batch K 3 3"]:
    """Rotations that carry the source's frame to the target's, up to each exchange of axes: ``A_t E A_s^T``."""
    return target.axes[..., None, :, :] @ as_like(exchanges, source.axes) @ source.axes.mT[..., None, :, :]


def frame_poses(source: Frame, target: Frame, exchanges: Float[Array, "K 3 3"]) -> RigidTransform:
    """Poses ``(*batch, K)`` that carry the source's frame, origin included, to the target's."""
    return poses_about(frame_rotations(source, target, exchanges), source.centroid, target.centroid)


def poses_about(
    rotations: Float[Array, "*batch K 3 3"], source_origin: Vectors, target_origin: Vectors
) -> RigidTransform:
    """Poses with the given rotations that carry one origin to the other: ``t = o_t - R o_s``."""
    return motion_between(source_origin[..., None, :], target_origin[..., None, :], rotations)
