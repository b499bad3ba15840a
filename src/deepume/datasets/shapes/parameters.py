"""Random sizes of procedural shapes."""

from __future__ import annotations

from dataclasses import dataclass

import torch

Number = float | int
"""A size or an angle; whole numbers are named because runtime checks read ``float`` literally."""


@dataclass(frozen=True, slots=True)
class Draw:
    """Draws the sizes of one shape; it carries the generator so that a family reads as a list of sizes."""

    generator: torch.Generator

    def __call__(self, low: Number, high: Number) -> float:
        """A number uniform in [low, high]."""
        return low + (high - low) * float(torch.rand((), generator=self.generator, dtype=torch.float64))

    def integer(self, low: int, high: int) -> int:
        """An integer uniform in low, ..., high."""
        return int(torch.randint(low, high + 1, (), generator=self.generator))
