"""Distances to a cloud, looked up in a grid: thousands of motions of a cloud are measured in a millisecond."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from deepume.geometry.neighbors import nearest
from deepume.transform import Points


@dataclass(frozen=True, slots=True)
class DistanceField:
    """Distance to the nearest point of a cloud, at the nodes of a grid over a cube around the origin."""

    nodes: Float[Tensor, "K K K"]
    half_side: float
    """Of the cube; points outside it are looked up at its faces."""

    @classmethod
    def of(cls, cloud: Float[Tensor, "M 3"], half_side: float, resolution: int) -> DistanceField:
        """The field of one cloud."""
        ticks = torch.linspace(-half_side, half_side, resolution, dtype=cloud.dtype, device=cloud.device)
        nodes = torch.cartesian_prod(ticks, ticks, ticks)
        return cls(nearest(nodes, cloud).distances.reshape(resolution, resolution, resolution), half_side)

    @property
    def cell(self) -> float:
        """Distance between neighboring nodes."""
        return 2 * self.half_side / (len(self.nodes) - 1)

    @property
    def slack(self) -> float:
        """Farthest that a looked-up distance is from the true one, within the cube: half the diagonal of a cell."""
        return 3**0.5 / 2 * self.cell

    def __call__(self, points: Points) -> Float[Tensor, "*batch N"]:
        """Distance at the node nearest to each point."""
        rows = ((points + self.half_side) / self.cell).round().long().clamp_(0, len(self.nodes) - 1)
        x, y, z = rows.unbind(-1)
        return self.nodes[x, y, z]
