"""Monomials of the coordinates of points, with their derivatives."""

from __future__ import annotations

from functools import cache
from itertools import product
from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor

from deepume.transform import Points


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
