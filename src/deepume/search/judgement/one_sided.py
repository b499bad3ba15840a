"""Whether a cloud shows its object from one side, as a camera does, or from all sides: how much is hidden behind it."""

from __future__ import annotations

from functools import cache
from itertools import permutations, product

import torch
from jaxtyping import Float
from torch import Tensor

from deepume.geometry.searchable import IndexedCloud, thin_by_radius
from deepume.search.policy import Evidence

DIRECTIONS = ((1, 0, 0), (1, 1, 0), (1, 1, 1), (2, 1, 0))
"""Along which pictures are taken, in the frame of the cloud, with all exchanges and signs: 25 in all. No direction is
farther than 23 degrees from one of them."""


def hidden_share(cloud: IndexedCloud, policy: Evidence) -> float:
    """Share of points whose neighbor in a picture lies far behind or before, in the picture where these are fewest.

    What a camera sees lies side by side, from where the camera stood. A whole object has its back behind its front,
    from wherever it is seen.
    """
    points = thin_by_radius(cloud, policy.picture_points) @ cloud.frame.axes
    spacing = cloud.spacing * max(1.0, len(cloud.points) / policy.picture_points) ** 0.5
    directions, planes = _pictures()
    flat, depth = points @ planes, (points @ directions.mT).mT
    halves = flat.square().sum(-1, keepdim=True).mT / 2
    likeness = torch.baddbmm(-halves, flat, flat.mT)  # of a point to all others: largest where they are nearest
    likeness.diagonal(dim1=-2, dim2=-1).fill_(-torch.inf)
    nearest = torch.from_numpy(likeness.numpy().argmax(-1))  # several times as fast as torch's
    gaps = (depth - depth.gather(-1, nearest)).abs()
    return float((gaps > policy.other_side * spacing).sum(-1).min()) / len(points)


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
