"""Clouds for the tests of the networks: asymmetric, with principal frames that are well determined."""

from __future__ import annotations

import torch
from torch import Tensor

from deepume.transform import RigidTransform, random_rotation


def seeded(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def skewed_cloud(*shape: int, seed: int, dtype: torch.dtype = torch.float64) -> Tensor:
    """Points ``(*shape, 3)`` of a lopsided blob: three different extents, each with a long tail."""
    points = torch.randn(*shape, 3, generator=seeded(seed), dtype=torch.float64)
    return ((points + 0.4 * points.square()) * torch.tensor([1.0, 0.6, 0.35], dtype=torch.float64)).to(dtype)


def random_motion(*batch: int, seed: int, dtype: torch.dtype = torch.float64) -> RigidTransform:
    generator = seeded(seed)
    rotation = random_rotation(*batch, generator=generator)
    translation = torch.randn(*batch, 3, generator=generator, dtype=torch.float64)
    return RigidTransform(rotation.to(dtype), translation.to(dtype))


def disturb(module: torch.nn.Module, seed: int = 0, amount: float = 0.2) -> torch.nn.Module:
    """Move every weight and running statistic away from its initial value, as training does."""
    generator = seeded(seed)
    for name, value in module.state_dict().items():
        if value.is_floating_point() and "sign" not in name:
            noise = torch.rand(value.shape, generator=generator, dtype=torch.float64)
            value.add_((amount * noise / max(1, value.shape[-1] if value.dim() > 1 else 1) ** 0.5).to(value))
    return module


@torch.no_grad()
def largest_difference(first: RigidTransform, second: RigidTransform) -> float:
    rotation = (first.rotation - second.rotation).abs().amax()
    return float(torch.maximum(rotation, (first.translation - second.translation).abs().amax()))
