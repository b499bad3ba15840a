"""How far the paper's network moves the points of a cloud before it describes them."""

from __future__ import annotations

import torch

from deepume.datasets import Pair
from deepume.geometry.chamfer import chamfer_squared
from deepume.geometry.unit_sphere import to_unit_pair
from deepume.networks.loading import load_network
from deepume.networks.paper import PaperConfig, PaperDeepUME

RESAMPLER = "paper-resampler"
"""The row of the paper's network for which this is measured."""


@torch.inference_mode()
def resampling_distance(pair: Pair) -> float:
    """Squared d_C between a cloud in its frame and the same resampled, mean of both clouds, in the clouds' unit."""
    network = load_network(PaperDeepUME, PaperConfig, "deepume-paper", pair.source.device)
    unit_pair = to_unit_pair(pair.source.float(), pair.target.float())
    estimate = network(unit_pair.source, unit_pair.target)
    moved = [chamfer_squared(*each) for each in zip(estimate.canonical, estimate.resampled, strict=True)]
    return float(torch.stack(moved).mean() * unit_pair.radius.square())
