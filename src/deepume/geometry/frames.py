"""Principal frames: coordinates that belong to the cloud itself and turn with it."""

from __future__ import annotations

from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from deepume.geometry.clouds import centroid
from deepume.transform import Points, Rotations, Vectors


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
