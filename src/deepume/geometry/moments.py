r"""Moments of invariant features: vectors that turn with the cloud, without any correspondence (UME).

A feature is *invariant* when p in the source and R p in the target have the same value. Its moment then obeys the
same formula as a point: ``M_target = M_source @ R.mT``. Means of monomials of the coordinates are moments, too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from itertools import product
from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor

from deepume.transform import Points

InvariantFunction = Callable[[Tensor], Tensor]
"""A function w_j of the invariant, applied element by element."""


def moment_matrix(
    points: Points,
    features: Float[Tensor, "*batch N C"],
    weights: Float[Tensor, "*batch N"] | None = None,
) -> Float[Tensor, "*batch C 3"]:
    r"""First moments of a cloud weighted by invariant features (paper, discrete UME theorem).

    .. math:: M_k = \frac{1}{N} \sum_n f_k(p_n)\, p_n^\top

    With ``weights`` (of sum 1, :func:`deepume.geometry.spacing.area_weights`) they replace 1/N: a sum over the surface
    rather than over the points. Rotating the cloud, ``points @ R.mT``, rotates every row: ``moments @ R.mT``.
    """
    if weights is None:
        return features.mT @ points / points.shape[-2]
    return (weights.unsqueeze(-1) * features).mT @ points


def discrete_ume(
    points: Points,
    invariant: Float[Tensor, "*batch N"],
    functions: Sequence[InvariantFunction],
    weights: Float[Tensor, "*batch N"] | None = None,
) -> Float[Tensor, "*batch C 3"]:
    r"""The general discrete UME: :math:`M_j = \frac1N \sum_p w_j(F(p))\, p^\top`, one row for each function w_j."""
    features = torch.stack([function(invariant) for function in functions], -1)
    return moment_matrix(points, features, weights)


def distance_from_center(points: Points) -> Float[Tensor, "*batch N"]:
    """The simplest invariant of a centered cloud: how far each point is from the origin."""
    return torch.linalg.vector_norm(points, dim=-1)


def indicator_functions(edges: Float[Tensor, "*batch B"]) -> list[InvariantFunction]:
    """1 inside a bin, 0 outside, for the bins between consecutive edges; the upper edge is outside."""
    lower, upper = edges[..., :-1].unbind(-1), edges[..., 1:].unbind(-1)
    return [_indicator(low, high) for low, high in zip(lower, upper, strict=True)]


def _indicator(low: Tensor, high: Tensor) -> InvariantFunction:
    return lambda value: ((value >= low.unsqueeze(-1)) & (value < high.unsqueeze(-1))).to(value.dtype)


def polynomial_functions(degree: int) -> list[InvariantFunction]:
    """The powers 1 to ``degree`` of the invariant (w(0) = 0, so there is no constant)."""
    return [lambda value, power=power: value**power for power in range(1, degree + 1)]


def radial_functions(centers: Float[Tensor, "*batch B"]) -> list[InvariantFunction]:
    """Smooth bins: Gaussians around the centers, as wide as the centers are apart.

    Unlike an indicator, a small error of the invariant changes them little.
    """
    width = (centers[..., 1:] - centers[..., :-1]).mean(-1, keepdim=True)
    return [_bump(middle, width.squeeze(-1)) for middle in centers.unbind(-1)]


def _bump(middle: Tensor, width: Tensor) -> InvariantFunction:
    return lambda value: torch.exp(-0.5 * ((value - middle.unsqueeze(-1)) / width.unsqueeze(-1)).square())


class Monomials(NamedTuple):
    """Products of powers of the coordinates, K of them for each point."""

    values: Float[Tensor, "*batch N K"]
    gradients: Float[Tensor, "*batch N 3 K"]
    laplacians: Float[Tensor, "*batch N K"]


def make_monomials(points: Points, degree: int) -> Monomials:
    """All monomials of degree 1 to ``degree``, in one order whatever the points."""
    exponents = torch.tensor(_list_exponents(degree), device=points.device)
    powers = torch.stack([points**k for k in range(degree + 1)], -1)
    factors, slopes, bends = (
        [_differentiate(powers[..., axis, :], exponents[:, axis], order) for axis in range(3)] for order in range(3)
    )
    x, y, z = factors
    return Monomials(
        x * y * z,
        torch.stack([slopes[0] * y * z, x * slopes[1] * z, x * y * slopes[2]], -2),
        bends[0] * y * z + x * bends[1] * z + x * y * bends[2],
    )


@cache
def _list_exponents(degree: int) -> list[tuple[int, ...]]:
    return [each for each in product(range(degree + 1), repeat=3) if 1 <= sum(each) <= degree]


def _differentiate(
    powers: Float[Tensor, "*batch N P"], exponents: Int[Tensor, "K"], order: int
) -> Float[Tensor, "*batch N K"]:
    """A derivative of these powers of a coordinate: ``e (e - 1) ... x^(e - order)``."""
    factor = torch.ones_like(exponents)
    for k in range(order):
        factor = factor * (exponents - k)
    return factor * powers[..., (exponents - order).clamp_min(0)]
