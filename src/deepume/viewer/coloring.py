"""Colors of the points in the live viewer: plain, or by what is known of each point."""

from __future__ import annotations

from enum import StrEnum

import numpy as np
import torch
from jaxtyping import Float, UInt8
from torch import Tensor

from deepume.alignment.score import TRUNCATION
from deepume.geometry.spacing import area_weights
from deepume.networks.estimate import Pair
from deepume.viewer.colors import SOURCE_COLOR, TARGET_COLOR, colorize, rgb

Colors = UInt8[np.ndarray, "_ 3"]


class Coloring(StrEnum):
    """What the color of a point says."""

    PLAIN = "cloud"
    RESIDUAL = "residual"
    FEATURE = "learned feature"
    AREA = "area weight"


MEANING = {
    Coloring.PLAIN: "Orange: source. Blue: target.",
    Coloring.RESIDUAL: "Pale: on the target. Dark: 4 sampling floors away from it, or more.",
    Coloring.FEATURE: "Dark: high. Where the network is right, both clouds have the same colors in the same places.",
    Coloring.AREA: "Dark: far from others, stands for much surface. Pale: close to others.",
}


def plain_colors(source_size: int, target_size: int) -> tuple[Colors, Colors]:
    """One color for each cloud."""
    source, target = (
        np.tile(np.array(rgb(color), dtype=np.uint8), (size, 1))
        for color, size in ((SOURCE_COLOR, source_size), (TARGET_COLOR, target_size))
    )
    return source, target


def residual_colors(residuals: Float[Tensor, " N"], floor: float) -> Colors:
    """Of the source: the same scale for every pose, in sampling floors."""
    return colorize(residuals, 0.0, TRUNCATION * floor)


def feature_colors(features: Pair, channel: int) -> tuple[Colors, Colors]:
    """Of both clouds by one channel, on one scale that leaves out 2 % at each end."""
    source, target = features.source[:, channel], features.target[:, channel]
    low, high = torch.quantile(torch.cat([source, target]), torch.tensor([0.02, 0.98]).to(source)).tolist()
    return colorize(source, low, high), colorize(target, low, high)


def area_colors(source: Float[Tensor, "N 3"], target: Float[Tensor, "M 3"]) -> tuple[Colors, Colors]:
    """Of both clouds by the share of the surface that a point stands for, up to three times the mean."""
    of_source, of_target = (colorize(len(cloud) * area_weights(cloud), 0.0, 3.0) for cloud in (source, target))
    return of_source, of_target
