"""Procedural shapes as a data set: no download, known symmetry, any number of shapes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from jaxtyping import Float
from torch import Tensor

from deepume.datasets.pairs.seeds import generator_for
from deepume.datasets.shapes.shape import Shape, list_families, make_shape


@dataclass(frozen=True)
class ProceduralSet:
    """Families round robin, parameters from the seed: shape ``index`` is the same on every machine."""

    size: int = 1024
    """Number of shapes."""
    points: int = 8192
    """Points of each cloud."""
    seed: int = 0
    """Another seed, another set of shapes."""

    @property
    def name(self) -> str:
        """``procedural``, with the seed where it is not 0."""
        return "procedural" if self.seed == 0 else f"procedural-{self.seed}"

    def __len__(self) -> int:
        return self.size

    def shape(self, index: int) -> Shape:
        """The shape itself, with its surface and its symmetry."""
        return _make(self.label(index), f"procedural/{self.seed}/{index}")

    def cloud(self, index: int) -> Float[Tensor, "N 3"]:
        """Points uniform over the surface, in the unit sphere."""
        generator = generator_for(f"procedural/{self.seed}/{index}/{self.points}")
        return self.shape(index).sample(self.points, generator=generator)

    def label(self, index: int) -> str:
        """Family of a shape."""
        if not 0 <= index < self.size:
            raise IndexError(f"index {index} of a set of {self.size} shapes")
        families = list_families()
        return families[index % len(families)]

    def shape_name(self, index: int) -> str:
        """Family and index."""
        return f"{self.label(index)}_{index:05d}"


@lru_cache(maxsize=256)
def _make(family: str, text: str) -> Shape:
    return make_shape(family, generator=generator_for(text))
