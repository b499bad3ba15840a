"""A still picture of a registration: before and after, side by side."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from deepume.geometry.clouds import centroid
from deepume.geometry.frames import principal_frame
from deepume.io.pictures import load_pyplot, save_figure
from deepume.result import Registration
from deepume.viewer.colors import SOURCE_COLOR, TARGET_COLOR

SHOWN_POINTS = 4000
"""Larger clouds are thinned for the picture: beyond this, points hide one another."""


def draw_registration(
    source: Float[Tensor, "N 3"], target: Float[Tensor, "M 3"], result: Registration, path: Path
) -> None:
    """Write a PNG (or PDF, SVG) with the clouds as given on the left and aligned on the right."""
    source, target = (cloud[torch.isfinite(cloud).all(-1)] for cloud in (source, target))
    # Seen in the target's own axes the object lies flat, whatever pose it was scanned in.
    frame = principal_frame(target)
    aligned = result.target_from_source.apply(source)
    figure, panels = load_pyplot().subplots(
        1, 2, figsize=(10, 4.2), subplot_kw={"projection": "3d"}, layout="constrained"
    )
    _draw_panel(panels[0], frame.to_local(source), frame.to_local(target), "as given")
    _draw_panel(panels[1], frame.to_local(aligned), frame.to_local(target), "registered")
    panels[0].legend(["source", "target"], loc="upper left", frameon=False, markerscale=4)
    save_figure(figure, path)


def _draw_panel(panel: Any, moving: Float[Tensor, "N 3"], fixed: Float[Tensor, "M 3"], title: str) -> None:
    for cloud, color in ((moving, SOURCE_COLOR), (fixed, TARGET_COLOR)):
        shown = cloud[:: max(1, len(cloud) // SHOWN_POINTS)].cpu()
        panel.scatter(*shown.unbind(-1), s=5, color=color, alpha=0.8, linewidths=0)
    both = torch.cat([moving, fixed])
    middle, radius = centroid(both).cpu(), float((both - centroid(both)).abs().max())
    for limit, value in zip((panel.set_xlim, panel.set_ylim, panel.set_zlim), middle.tolist(), strict=True):
        limit(value - radius, value + radius)
    panel.set_box_aspect((1, 1, 1), zoom=1.6)
    panel.view_init(elev=40, azim=-65)
    panel.set_title(title, y=0.98)
    panel.set_axis_off()
