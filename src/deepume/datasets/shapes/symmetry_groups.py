"""Rotation symmetry of a shape, given by axes through its centroid."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from deepume.transform import rotation_from_vector


@dataclass(frozen=True, slots=True)
class SymmetryGroup:
    """The rotations that leave a shape as it is, by axes that generate them; no axis: only the identity."""

    axes: Float[Tensor, "A 3"]
    """Unit vectors through the centroid."""
    orders: tuple[int, ...]
    """Order of each axis; 0 stands for continuous. Two continuous axes: a sphere."""

    @property
    def is_trivial(self) -> bool:
        """True if only the identity leaves the shape as it is."""
        return not self.orders

    def rotations(self, *, steps: int = 12) -> Float[Tensor, "G 3 3"]:
        """All rotations of the group, the identity first; a continuous axis is taken in ``steps`` steps.

        All of SO(3) cannot be listed: for a sphere the 24 rotations of the cube stand for it.
        """
        steps = 4 if self.orders.count(0) > 1 else steps
        generators = [
            rotation_from_vector(axis * (2 * math.pi / (order or steps)))
            for axis, order in zip(self.axes, self.orders, strict=True)
        ]
        return _close(generators)


def symmetric(*generators: tuple[str, int]) -> SymmetryGroup:
    """Group of (axis, order) pairs with axes named ``x``, ``y`` or ``z``; without any the trivial group."""
    unit = torch.eye(3, dtype=torch.float64)
    axes = [unit["xyz".index(name)] for name, _ in generators]
    return SymmetryGroup(torch.stack([*axes, unit[0]])[:-1], tuple(order for _, order in generators))


def _close(generators: list[Float[Tensor, "3 3"]]) -> Float[Tensor, "G 3 3"]:
    """Every product of the generators: each new rotation is multiplied by each of them until none is new."""
    found = [torch.eye(3, dtype=torch.float64)]
    for rotation in found:
        for generator in generators:
            product = generator @ rotation
            if all((product - known).abs().max() > 1e-6 for known in found):
                found.append(product)
    return torch.stack(found)
