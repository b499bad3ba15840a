"""What hypothesis draws: seeds, batch shapes and dtypes; and the clouds that follow from a seed."""

import numpy as np
import torch
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy
from torch import Tensor

from deepume.arrays import Array, to_doubles
from deepume.transform import RigidTransform, random_rotation


def seeds() -> SearchStrategy[int]:
    return st.integers(0, 2**31 - 1)


def batch_shapes() -> SearchStrategy[tuple[int, ...]]:
    return st.sampled_from([(), (2,), (2, 3)])


def dtypes() -> SearchStrategy[torch.dtype]:
    return st.sampled_from([torch.float32, torch.float64])


def sizes(least: int = 8, most: int = 60) -> SearchStrategy[int]:
    return st.integers(least, most)


def generator(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def random_cloud(seed: int, *shape: int, dtype: torch.dtype = torch.float64) -> Tensor:
    """Points ``(*shape, 3)``: different variances along the axes, long tails to one side, no symmetry."""
    unit = torch.rand(*shape, 3, generator=generator(seed), dtype=torch.float64)
    return ((unit.square() - 1 / 3) * torch.tensor([3.0, 2.0, 1.0], dtype=torch.float64)).to(dtype)


def random_motion(seed: int, *batch: int, dtype: torch.dtype = torch.float64, scaled: bool = False) -> RigidTransform:
    draws = generator(seed)
    rotation = random_rotation(*batch, generator=draws).to(dtype)
    translation = torch.randn(*batch, 3, generator=draws, dtype=torch.float64).to(dtype)
    if not scaled:
        return RigidTransform(rotation, translation)
    scale = 0.5 + torch.rand(batch, generator=draws, dtype=torch.float64)
    return RigidTransform(rotation, translation, scale.to(dtype))


def worst(first: Array, second: Array) -> float:
    """Largest deviation of any element, of arrays or tensors."""
    return float(np.abs(to_doubles(first) - to_doubles(second)).max())
