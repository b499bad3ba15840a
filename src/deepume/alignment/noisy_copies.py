r"""Moments of noisy copies: noise blurs a cloud in a known way, so its moments tell how it moved. No correspondences.

Noise of standard deviation s on every point changes the mean of a polynomial m by the mean of its slope along the
noise, whose covariance is known, and, as heat would, by :math:`\tfrac{s^2}{2}` times the mean of its Laplacian. What
else the means of two clouds differ by is a small motion: generalized least squares.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from deepume.geometry.clouds import centroid, rms_radius
from deepume.geometry.frames import principal_frame
from deepume.geometry.moments import Monomials, make_monomials
from deepume.transform import (
    Points,
    RigidTransform,
    Rotations,
    Source,
    Target,
    Vectors,
    cross_matrix,
    motion_between,
    rotation_from_vector,
)

DEGREE = 5
"""Of the polynomials: 55 of them. With 34 (degree 4) poses err by 5 % more, with 83 (degree 6) no less."""
TRUST = 5.0
"""The pose to start from has this many times the variance that known partners would leave it. The network's poses of
noisy copies are combined best so; 3 and 8 do nearly as well."""
STEPS = 3
"""From a degree off, the third moves the pose by less than noise does."""
RANK = 1e-4
"""Combinations of moments that feel noise less than this, as a share of those that feel it most, are left out."""
MOST_NOISE = 0.1
"""In radii of the cloud. On validation shapes copies have up to 0.08, other samplings of one shape 0.12 and more, but
two that share half of their points from 0.08 on."""
LEAST_FREEDOM = 20
"""Fewer differences than this, beyond those that a motion explains, do not tell a copy from chance."""
FARTHEST = 1e3
"""In radii of the source: beyond it, powers overflow, and the clouds are no copies."""
NEGLIGIBLE = 1e-12
"""Share of the largest below which an effect on the moments is none."""


class NoisyCopy(NamedTuple):
    """How one cloud is another with noise."""

    pose: RigidTransform
    noise: Float[Tensor, "*batch"]
    """Standard deviation of each coordinate that explains what no motion explains, in radii of the source."""

    @property
    def believed(self) -> Bool[Tensor, "*batch"]:
        """True where so little noise does; another sampling takes more of it than a copy could have."""
        return self.noise < MOST_NOISE


def refine_copy(source: Source, target: Target, pose: RigidTransform) -> NoisyCopy:
    """The pose refined by moments, in case the target is a noisy copy of the source, in float64.

    The given pose and that of the moments are averaged, weighted by precision: where the moments see a turn clearly, as
    on a smooth scan, it is theirs. Turning or moving either cloud changes the answer accordingly; the
    order of the points does not matter.
    """
    source, target = source.double(), target.double()
    start = pose.to(source)
    copy = NoisyCopy(start, source.new_zeros(()))
    for _ in range(STEPS):
        copy = _step(source, target, copy.pose, start)
    return copy


def _step(source: Source, target: Target, pose: RigidTransform, start: RigidTransform) -> NoisyCopy:
    """One step of Gauss and Newton."""
    moved = pose.apply(source)
    view = _View(centroid(moved), pose.rotation @ principal_frame(source).axes, rms_radius(moved))
    points, others = view.enter(moved), view.enter(target)
    here, there = make_monomials(points, DEGREE), make_monomials(others, DEGREE)
    # Half of what noise adds to the slopes of a copy is what it does to the moments at second order.
    whitening = _whiten((_blur(here) + _blur(there)) / (2 * target.shape[-2]))
    effects = whitening @ (_effects(points, here) + _effects(others, there)) / 2
    difference = whitening @ (there.values.mean(-2) - here.values.mean(-2)).unsqueeze(-1)
    seen, wanted = effects.mT @ effects, effects.mT @ difference
    held = _precision_of_partners(points) / TRUST
    change = _solve(seen + held, wanted + held @ view.read(start @ pose.inverse()).unsqueeze(-1))
    left = difference - effects @ _solve(seen, wanted)
    freedom = (whitening != 0).any(-1).sum(-1) - effects.shape[-1]
    noise = (left.square().sum((-2, -1)) / freedom.clamp_min(1)).sqrt()
    noise = torch.where(freedom < LEAST_FREEDOM, torch.inf, noise)
    return NoisyCopy(view.motion(change.squeeze(-1)) @ pose, noise)


class _View(NamedTuple):
    """Where moments are taken: on the moved source, along its principal axes, so that no others matter."""

    middle: Vectors
    axes: Rotations
    size: Float[Tensor, "*batch"]

    def enter(self, points: Points) -> Points:
        """Points seen from here, in radii."""
        local = (points - self.middle.unsqueeze(-2)) @ self.axes / self.size[..., None, None]
        return local.clamp(-FARTHEST, FARTHEST)

    def motion(self, change: Float[Tensor, "*batch 7"]) -> RigidTransform:
        """The motion that a turn and a shift make, both seen from here; the variance of the noise makes none."""
        turn, shift = ((self.axes @ part.unsqueeze(-1)).squeeze(-1) for part in (change[..., :3], change[..., 3:6]))
        image = self.middle + self.size.unsqueeze(-1) * shift
        return motion_between(self.middle, image, rotation_from_vector(turn))

    def read(self, motion: RigidTransform) -> Float[Tensor, "*batch 7"]:
        """The turn and the shift of a small motion."""
        local = self.axes.mT @ motion.rotation @ self.axes
        twist = (local - local.mT) / 2
        turn = torch.stack([twist[..., 2, 1], twist[..., 0, 2], twist[..., 1, 0]], -1)
        shift = self.enter(motion.apply(self.middle.unsqueeze(-2))).squeeze(-2)
        return torch.cat([turn, shift, torch.zeros_like(turn[..., :1])], -1)


def _effects(points: Points, monomials: Monomials) -> Float[Tensor, "*batch K 7"]:
    """What a small turn about each axis, a shift along each and the variance of the noise add to every moment."""
    x, y, z = monomials.gradients.unbind(-2)
    p, q, r = points.unsqueeze(-1).unbind(-2)
    effects = [q * z - r * y, r * x - p * z, p * y - q * x, x, y, z, monomials.laplacians / 2]
    return torch.stack([each.mean(-2) for each in effects], -1)


def _blur(monomials: Monomials) -> Float[Tensor, "*batch K K"]:
    """Covariance of the monomials of one point under noise of variance 1, the mean over the cloud."""
    rows = monomials.gradients.flatten(-3, -2)
    return rows.mT @ rows / monomials.values.shape[-2]


def _whiten(blur: Float[Tensor, "*batch K K"]) -> Float[Tensor, "*batch K K"]:
    """Combinations without correlation and, if each coordinate's noise has variance 1, of variance 1.

    Rows of zeros stand for combinations that hardly feel noise.
    """
    noise = blur.diagonal(dim1=-2, dim2=-1)
    unit = torch.where(noise > NEGLIGIBLE * noise.amax(-1, keepdim=True), noise.rsqrt(), 0.0)
    variances, axes = torch.linalg.eigh(unit.unsqueeze(-1) * blur * unit.unsqueeze(-2))
    scale = torch.where(variances > RANK * variances[..., -1:], variances.clamp_min(NEGLIGIBLE).rsqrt(), 0.0)
    return scale.unsqueeze(-1) * axes.mT * unit.unsqueeze(-2)


def _precision_of_partners(points: Points) -> Float[Tensor, "*batch 7 7"]:
    """Of turn and shift, were every point's partner known and noise of variance 1; of that variance, 0."""
    lever = cross_matrix(points)
    precision = points.new_zeros(*points.shape[:-2], 7, 7)
    precision[..., :3, :3] = (lever.mT @ lever).sum(-3)
    precision[..., 3:6, 3:6] = points.shape[-2] * torch.eye(3).to(points)
    return precision


def _solve(precision: Float[Tensor, "*batch 7 7"], wanted: Float[Tensor, "*batch 7 1"]) -> Float[Tensor, "*batch 7 1"]:
    """Least squares by normal equations; what nothing determines stays near zero."""
    floor = NEGLIGIBLE * precision.diagonal(dim1=-2, dim2=-1).amax(-1)
    return torch.linalg.solve(precision + floor[..., None, None] * torch.eye(7).to(precision), wanted)
