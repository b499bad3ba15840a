"""Small tensors on a shared machine: one thread is faster than many; shapes are made once."""

from collections.abc import Iterator
from dataclasses import replace

import pytest
import torch

from deepume.training.pairs.bank import Banks, load_banks
from deepume.training.recipes.our_recipes import TINY
from deepume.training.recipes.recipe import Recipe


@pytest.fixture(autouse=True, scope="session")
def one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="session")
def recipe() -> Recipe:
    return replace(TINY, points=((32, 1.0), (48, 1.0)), steps=12)


@pytest.fixture(scope="session")
def banks(recipe: Recipe) -> Banks:
    return load_banks(recipe, None, torch.device("cpu"))
