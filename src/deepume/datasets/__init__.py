"""Data: procedural shapes, scenarios, laws of motion, reproducible pairs, and readers of the usual sets."""

from deepume.datasets.catalog import SetName, open_set
from deepume.datasets.pairs.keys import Dataset, Pair, PairKey, make_pair
from deepume.datasets.pairs.laws import Law, draw_motion, draw_rotation
from deepume.datasets.pairs.scenarios import Scenario, draw_clouds
from deepume.datasets.procedural import ProceduralSet
from deepume.datasets.shapes.shape import Shape, list_families, make_shape
from deepume.datasets.shapes.symmetry_groups import SymmetryGroup

__all__ = [
    "Dataset",
    "Law",
    "Pair",
    "PairKey",
    "ProceduralSet",
    "Scenario",
    "SetName",
    "Shape",
    "SymmetryGroup",
    "draw_clouds",
    "draw_motion",
    "draw_rotation",
    "list_families",
    "make_pair",
    "make_shape",
    "open_set",
]
