"""The 3-D objects of the live viewer: both clouds, their axes and moments, and the handle that moves the source."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from deepume.transform import RigidTransform, rotation_from_quaternion
from deepume.viewer.arrows import Arrows, axis_arrows
from deepume.viewer.coloring import Colors, plain_colors
from deepume.viewer.colors import SOURCE_COLOR, TARGET_COLOR, rgb
from deepume.viewer.scene import Scene, quaternion

POINT_SIZE = {500: 0.03, 3000: 0.02, 10_000: 0.012}
"""Diameter of a point, in target radii, for clouds of up to so many points; larger ones take SMALLEST_POINT."""
SMALLEST_POINT = 0.008
FIRST_CAMERA = (1.3, -3.0, 2.0)
NARROW_CAMERA, NARROW_LOOK = (2.3, -5.4, 1.3), (0.0, 0.0, -2.3)
"""For screens higher than wide: farther away, and looking lower, since the controls cover the lower half there."""


class Stage:
    """Draws on a viser server. Three parts move: the start (by hand), the aligned source, and its axes and moments."""

    def __init__(self, server: Any, scene: Scene):
        self.scene = scene
        draw, colors = server.scene, plain_colors(len(scene.source), len(scene.target))
        server.initial_camera.position, server.initial_camera.look_at = FIRST_CAMERA, (0.0, 0.0, 0.0)
        server.on_client_connect(_fit_narrow_screen)
        local, fixed = scene.local_source, scene.scene_target
        self.start = _add_cloud(draw, "/start", local.numpy(), colors[0] // 3 + 165)
        self.aligned = _add_cloud(draw, "/aligned", local.numpy(), colors[0])
        self.target = _add_cloud(draw, "/target", fixed.numpy(), colors[1])
        self.axes = (
            _add_arrows(draw, "/aligned axes", axis_arrows(local), SOURCE_COLOR, 0.022),
            _add_arrows(draw, "/target axes", axis_arrows(fixed), TARGET_COLOR, 0.022),
        )
        nothing = torch.zeros(1, 2, 3)
        self.moments = (
            _add_arrows(draw, "/aligned moments", nothing, SOURCE_COLOR, 0.01),
            _add_arrows(draw, "/target moments", nothing, TARGET_COLOR, 0.01),
        )
        self.handle = draw.add_transform_controls("/hand", scale=0.9, line_width=4.0, depth_test=False, visible=False)
        self.place_start(scene.start)
        self.handle.wxyz, self.handle.position = self.start.wxyz, self.start.position

    def place_start(self, place: RigidTransform) -> None:
        """Put the source as it is before registration."""
        _put(place, self.start)

    def place_aligned(self, place: RigidTransform) -> None:
        """Put the aligned source, its axes and its moments."""
        _put(place, self.aligned, self.axes[0], self.moments[0])

    @property
    def hand(self) -> RigidTransform:
        """Where the handle is."""
        wxyz, position = (
            torch.tensor(value, dtype=torch.float64) for value in (self.handle.wxyz, self.handle.position)
        )
        return RigidTransform(rotation_from_quaternion(wxyz), position, self.scene.start.scale)

    def color(self, source: Colors, target: Colors) -> None:
        """Color the aligned source and the target."""
        self.aligned.colors, self.target.colors = source, target

    def show_axes(self, visible: bool) -> None:
        """Show or hide the principal axes."""
        for arrows in self.axes:
            arrows.visible = visible

    def show_moments(self, moments: tuple[Arrows, Arrows] | None) -> None:
        """Show these moments, or none."""
        for arrows, vectors in zip(self.moments, moments or (None, None), strict=True):
            arrows.visible = vectors is not None
            if vectors is not None:
                arrows.points = vectors.float().numpy()


def _fit_narrow_screen(client: Any) -> None:
    if client.camera.image_height > client.camera.image_width:
        client.camera.position, client.camera.look_at = NARROW_CAMERA, NARROW_LOOK


def _add_cloud(draw: Any, name: str, points: np.ndarray, colors: Colors) -> Any:
    size = next((size for count, size in POINT_SIZE.items() if len(points) <= count), SMALLEST_POINT)
    return draw.add_point_cloud(
        name, points.astype(np.float32), colors, point_size=size, point_shape="circle", precision="float32"
    )


def _add_arrows(draw: Any, name: str, arrows: Arrows, color: str, radius: float) -> Any:
    return draw.add_arrows(
        name,
        arrows.float().numpy(),
        rgb(color),
        shaft_radius=radius,
        head_radius=2.5 * radius,
        head_length=6 * radius,
        visible=False,
    )


def _put(place: RigidTransform, *nodes: Any) -> None:
    wxyz = quaternion(place.rotation)
    for node in nodes:
        node.wxyz, node.position, node.scale = wxyz, place.translation.numpy(), float(place.scale)
