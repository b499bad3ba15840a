import subprocess
import sys

import pytest
import torch

from deepume.datasets.catalog import open_set
from deepume.datasets.pairs.keys import Dataset, PairKey, make_pair
from deepume.datasets.pairs.laws import Law
from deepume.datasets.pairs.scenarios import Scenario
from deepume.datasets.pairs.seeds import fraction_for, generator_for
from deepume.datasets.procedural import ProceduralSet
from deepume.datasets.shapes.shape import list_families


def test_families_come_round_robin() -> None:
    families, shapes = list_families(), ProceduralSet(size=100)
    assert isinstance(shapes, Dataset)
    assert len(shapes) == 100
    assert [shapes.label(k) for k in range(len(families))] == families
    assert shapes.label(len(families) + 2) == families[2]
    assert shapes.shape_name(7) == f"{families[7]}_00007"
    assert len({shapes.shape_name(k) for k in range(100)}) == 100


def test_shapes_depend_on_index_and_seed_and_not_on_the_order() -> None:
    chair = list_families().index("chair")
    first, second = ProceduralSet(points=300), ProceduralSet(points=300)
    second.cloud(0)
    assert torch.equal(first.cloud(chair), second.cloud(chair))
    assert not torch.equal(first.cloud(chair), first.cloud(chair + len(list_families())))
    other = ProceduralSet(points=300, seed=1).shape(chair)
    assert not torch.equal(first.shape(chair).mesh.vertices, other.mesh.vertices)
    assert ProceduralSet(seed=1).name != first.name
    assert first.shape(chair).family == "chair"


def test_indices_beyond_the_set_are_refused() -> None:
    with pytest.raises(IndexError, match="index 5 of a set of 5"):
        ProceduralSet(size=5).cloud(5)


def test_pairs_of_two_different_families() -> None:
    shapes = open_set("procedural")
    pair = make_pair(shapes, PairKey("procedural", Scenario.DIFFERENT, Law.HAAR, 64, 3))
    first, second = pair.name.split(" | ")
    assert first.rpartition("_")[0] != second.rpartition("_")[0]


def test_generators_depend_only_on_the_text() -> None:
    draws = [torch.rand(4, generator=generator_for(text)) for text in ("a", "a", "b")]
    assert torch.equal(draws[0], draws[1])
    assert not torch.equal(draws[0], draws[2])
    assert 0 <= fraction_for("a") < 1


def test_making_shapes_and_pairs_needs_no_scientific_extras() -> None:
    program = (
        "import sys; sys.modules.update(dict.fromkeys(['scipy', 'trimesh', 'h5py', 'matplotlib']))\n"
        "from deepume.datasets import *\n"
        "pair = make_pair(open_set('procedural'), PairKey('procedural', Scenario.ZERO, Law.HAAR, 64, 0))\n"
        "print(tuple(pair.source.shape))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "(64, 3)"
