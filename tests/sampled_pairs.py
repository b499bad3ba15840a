"""Pairs for the tests of register, and what is compared of its results."""

import torch
from torch import Tensor

from deepume import Registration, RigidTransform
from deepume.datasets import make_shape
from strategies import generator, random_motion

FLAT = torch.tensor([1.0, 1.0, 0.0], dtype=torch.float64)
"""Flattens a cloud onto a plane."""


def clouds(n: int, m: int, family: str = "chair", seed: int = 0) -> tuple[Tensor, Tensor, RigidTransform]:
    """Two samplings of one shape, without common points, and the motion between them."""
    shape, motion = make_shape(family, generator=generator(3)), random_motion(seed)
    source = shape.sample(n, generator=generator(seed + 1))
    return source, motion.apply(shape.sample(m, generator=generator(seed + 2))), motion


def bits(result: Registration) -> str:
    """Everything but the clock."""
    assert result.diagnostics is not None
    seconds = dict.fromkeys(result.diagnostics.seconds, 0.0)
    text = result.to_json()
    for stage, value in result.diagnostics.seconds.items():
        text = text.replace(f'"{stage}": {value!r}', f'"{stage}": {seconds[stage]}')
    return text


def with_bad_rows(points: Tensor) -> Tensor:
    return torch.cat([points[:20], torch.tensor([[torch.nan, 0, 0], [0, torch.inf, 0]]).double(), points[20:]])
