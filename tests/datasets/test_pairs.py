import random
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial

import pytest
import torch
from jaxtyping import Float
from torch import Tensor

from deepume.datasets.pairs.keys import Pair, PairKey, make_pair
from deepume.datasets.pairs.laws import Law
from deepume.datasets.pairs.scenarios import Scenario, gaussian
from deepume.errors import DeepumeError


@dataclass(frozen=True)
class Balls:
    """Balls of random points; the label alternates unless there is one family."""

    name: str = "balls"
    families: int = 2

    def __len__(self) -> int:
        return 6

    def cloud(self, index: int) -> Float[Tensor, "N 3"]:
        return torch.randn(600, 3, generator=torch.Generator().manual_seed(index), dtype=torch.float64)

    def label(self, index: int) -> str:
        return f"family {index % self.families}"

    def shape_name(self, index: int) -> str:
        return f"ball {index}"


KEY = PairKey("balls", Scenario.ZERO, Law.HAAR, 128, 2, 0)


def same(one: Pair, other: Pair) -> bool:
    truths = one.target_from_source.matrix, other.target_from_source.matrix
    return (
        torch.equal(one.source, other.source)
        and torch.equal(one.target, other.target)
        and torch.equal(*truths)
        and one.name == other.name
    )


@pytest.mark.parametrize("scenario", list(Scenario))
@pytest.mark.parametrize("law", [Law.HAAR, Law.TWIST])
def test_same_key_same_pair(scenario: Scenario, law: Law) -> None:
    key = replace(KEY, scenario=scenario, law=law)
    assert same(make_pair(Balls(), key), make_pair(Balls(), key))


def test_any_change_of_the_key_is_another_pair() -> None:
    pair = make_pair(Balls(), KEY)
    others = [{"index": 3}, {"seed": 1}, {"law": Law.EULER_45}, {"n": 127}, {"scenario": Scenario.GAUSSIAN}]
    for change in others:
        other = make_pair(Balls(), replace(KEY, **change))
        assert not torch.equal(other.target_from_source.rotation, pair.target_from_source.rotation)


def test_neither_order_nor_workers_nor_the_global_seed_matter() -> None:
    keys = [replace(KEY, index=index, seed=seed) for index in range(6) for seed in range(3)]
    plain = {key: make_pair(Balls(), key) for key in keys}
    random.Random(0).shuffle(keys)
    torch.manual_seed(99)
    with ThreadPoolExecutor(4) as pool:
        for key, pair in zip(keys, pool.map(partial(make_pair, Balls()), keys), strict=True):
            assert same(pair, plain[key])


def test_making_a_pair_does_not_change_the_global_generator() -> None:
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    make_pair(Balls(), KEY)
    assert torch.equal(torch.rand(3), expected)


def test_the_truth_moves_source_onto_target() -> None:
    pair = make_pair(Balls(), replace(KEY, scenario=Scenario.NOISE_FREE))
    moved = pair.target_from_source.apply(pair.source)
    distances = torch.cdist(moved, pair.target).min(-1)
    assert distances.values.max() < 1e-6
    assert len(distances.indices.unique()) == 128
    assert not torch.equal(distances.indices, torch.arange(128))


def test_pairs_are_float64_and_carry_key_and_name() -> None:
    pair = make_pair(Balls(), KEY)
    assert pair.source.dtype == pair.target.dtype == torch.float64
    assert pair.source.shape == pair.target.shape == (128, 3)
    assert pair.key == KEY
    assert pair.name == "ball 2"


def test_different_shapes_come_from_different_families() -> None:
    for index in range(6):
        pair = make_pair(Balls(), replace(KEY, scenario=Scenario.DIFFERENT, index=index))
        first, second = (int(name.split()[1]) for name in pair.name.split(" | "))
        assert first == index
        assert first % 2 != second % 2
    with pytest.raises(DeepumeError, match="one family"):
        make_pair(Balls(families=1), replace(KEY, scenario=Scenario.DIFFERENT))


def test_a_sweep_changes_the_parameter_and_nothing_else() -> None:
    quiet, loud = (make_pair(Balls(), KEY, draw=partial(gaussian, std=std)) for std in (0.0, 0.1))
    assert torch.equal(quiet.source, loud.source)
    assert (loud.target - quiet.target).std().item() == pytest.approx(0.1, rel=0.2)


def test_a_key_of_another_set_is_an_error() -> None:
    with pytest.raises(DeepumeError, match=r"'stanford'.*'balls'"):
        make_pair(Balls(), replace(KEY, set="stanford"))
