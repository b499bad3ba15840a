"""Whether a cloud shows its object from one side, as a camera does, or from all sides: how many layers lie on it."""

from __future__ import annotations

from functools import cache
from itertools import permutations, product

import torch
from jaxtyping import Float
from torch import Tensor

from deepume.alignment.indexed_cloud import PreparedCloud, thin_by_radius

MOST_POINTS = 64
"""Points that are looked at: the measure takes all their distances in every picture."""
APART = 2.0
"""Neighbors in a picture that lie this many spacings before or behind each other are on different layers."""
DIRECTIONS = ((1, 0, 0), (1, 1, 0), (1, 1, 1), (2, 1, 0))
"""Along which pictures are taken, in the frame of the cloud, with all exchanges and signs: 25, nothing is farther than
23 degrees from one of them."""


def hidden_share(cloud: PreparedCloud) -> float:
    """Share of points whose neighbor in a picture lies on another layer, in the picture where these are fewest.

    What a camera sees has one layer from where it stood. Of a whole object front and back lie on each other from
    everywhere.
    """
    points = thin_by_radius(cloud, MOST_POINTS) @ cloud.frame.axes
    spacing = cloud.spacing * max(1.0, len(cloud.points) / MOST_POINTS) ** 0.5
    directions, planes = _pictures()
    flat, depth = points @ planes, (points @ directions.mT).mT
    halves = flat.square().sum(-1, keepdim=True).mT / 2
    likeness = torch.baddbmm(-halves, flat, flat.mT)  # of a point to all others: largest where they are nearest
    likeness.diagonal(dim1=-2, dim2=-1).fill_(-torch.inf)
    nearest = torch.from_numpy(likeness.numpy().argmax(-1))  # some times as fast as torch's
    gaps = (depth - depth.gather(-1, nearest)).abs()
    return float((gaps > APART * spacing).sum(-1).min()) / len(points)


@cache
@torch.inference_mode(False)
def _pictures() -> tuple[Float[Tensor, "D 3"], Float[Tensor, "D 3 2"]]:
    """Unit directions, no two of them opposite, and for each two axes across it."""
    turned = (
        tuple(sign * number for sign, number in zip(signs, order, strict=True))
        for numbers in DIRECTIONS
        for order in permutations(numbers)
        for signs in product((1, -1), repeat=3)
    )
    halves = sorted({each for each in turned if each > (0, 0, 0)})
    directions = torch.nn.functional.normalize(torch.tensor(halves, dtype=torch.float64), dim=-1)
    return directions, torch.linalg.svd(directions.unsqueeze(-2)).Vh[:, 1:].mT.contiguous()
