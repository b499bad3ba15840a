"""Weights files with untrained, disturbed weights: promises of an architecture hold whatever the weights are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from torch import nn

from deepume.networks.compared.dcp import Dcp, DcpConfig
from deepume.networks.compared.deepgmr import DeepGMR, DeepGMRConfig
from deepume.networks.compared.pointnetlk import PointNetLK, PointNetLKConfig
from deepume.networks.compared.rgm import Rgm, RgmConfig
from deepume.networks.loading import NetworkMethod
from deepume.networks.weights_files import Card, save_weights
from pairs import disturb

SMALL: dict[str, tuple[type[nn.Module], Any]] = {
    "pointnetlk": (PointNetLK, PointNetLKConfig(widths=(16, 32, 64))),
    "dcp-v1": (Dcp, DcpConfig(width=32, neighbors=8, attention=False)),
    "dcp": (Dcp, DcpConfig(width=32, neighbors=8, heads=2, hidden=64)),
    "deepgmr": (DeepGMR, DeepGMRConfig(neighbors=8, widths=(16, 32), head=(16,))),
    "rgm": (Rgm, RgmConfig(width=32, neighbors=8, heads=2, hidden=64)),
}
"""Each network with a small configuration."""


def random_network(name: str, seed: int = 0) -> nn.Module:
    kind, config = SMALL[name]
    torch.manual_seed(seed)
    return disturb(kind(config), seed).eval().requires_grad_(False)


def random_method(name: str, folder: Path) -> NetworkMethod:
    kind, config = SMALL[name]
    path = folder / f"{name}.safetensors"
    save_weights(path, random_network(name), config, Card())
    return NetworkMethod(kind, type(config), str(path))
