"""One-sided scans: what a camera sees of each shape of another set."""

from __future__ import annotations

from dataclasses import dataclass

from jaxtyping import Float
from torch import Tensor

from deepume.datasets.pairs.keys import Dataset
from deepume.datasets.pairs.occlusion import draw_view
from deepume.datasets.pairs.seeds import generator_for
from deepume.datasets.procedural import ProceduralSet
from deepume.geometry.clouds import to_unit_sphere

POINTS = 40_960
"""Points of a whole procedural shape: a scan of it has at least 2,048, usually 12,000."""
LEAST_SEEN, MOST_VIEWS = 0.05, 8
"""A view point that sees less than this share of a shape is drawn again, up to so many times in all."""


@dataclass(frozen=True)
class ScanSet:
    """The shapes of another set, each from one random view point, always the same, in the unit sphere."""

    whole: Dataset
    """The shapes that are scanned."""
    name: str

    def __len__(self) -> int:
        return len(self.whole)

    def cloud(self, index: int) -> Float[Tensor, "N 3"]:
        """The points of a shape that its view point sees."""
        cloud, generator = self.whole.cloud(index), generator_for(f"{self.name}/{index}")
        visible = draw_view(cloud, generator=generator)
        for _ in range(MOST_VIEWS - 1):
            if float(visible.double().mean()) >= LEAST_SEEN:
                break
            visible = draw_view(cloud, generator=generator)
        return to_unit_sphere(cloud[visible])

    def label(self, index: int) -> str:
        """Class or family of the shape."""
        return self.whole.label(index)

    def shape_name(self, index: int) -> str:
        """Name of the shape."""
        return self.whole.shape_name(index)


def scan_procedural(name: str, *, seed: int) -> ScanSet:
    """Scans of procedural shapes; another seed, other shapes."""
    return ScanSet(ProceduralSet(points=POINTS, seed=seed), name)
