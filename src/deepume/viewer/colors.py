"""Colors that color-blind readers can distinguish, the same in every picture, page and viewer."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float, UInt8
from torch import Tensor

SOURCE_COLOR, TARGET_COLOR = "#d55e00", "#0072b2"
SCALE = ("#b4d4ea", "#f0a75c", "#d55e00", "#7a2048", "#2b0a3d")
"""Low to high. Every step is darker than the one before, so that the order survives gray print and any eye."""


def rgb(color: str) -> tuple[int, int, int]:
    """Red, green and blue of ``#rrggbb``, 0 to 255."""
    red, green, blue = bytes.fromhex(color.removeprefix("#"))
    return red, green, blue


def colorize(values: Float[Tensor, " N"], low: float, high: float) -> UInt8[np.ndarray, "N 3"]:
    """Colors of values on :data:`SCALE`; what lies outside the range takes the color of its end."""
    stops = np.array([rgb(color) for color in SCALE], dtype=float)
    span = max(high - low, np.finfo(float).tiny)
    places = np.clip((values.double().cpu().numpy() - low) / span, 0, 1) * (len(stops) - 1)
    channels = [np.interp(places, np.arange(len(stops)), stops[:, channel]) for channel in range(3)]
    return np.stack(channels, -1).round().astype(np.uint8)
