"""The live viewer: a registration in the browser, to look at from all sides, to change and to repeat."""

from __future__ import annotations

import io
import socket
import threading
from collections.abc import Callable
from contextlib import redirect_stdout
from typing import Any

import numpy as np

from deepume.io import import_package
from deepume.networks.estimate import Pair
from deepume.result import Hypothesis, Registration
from deepume.transform import RigidTransform
from deepume.viewer.arrows import Arrows, MomentsOf, moment_arrows, shell_features
from deepume.viewer.choices import candidates, nearest_best
from deepume.viewer.coloring import (
    MEANING,
    Coloring,
    Colors,
    area_colors,
    feature_colors,
    plain_colors,
    residual_colors,
)
from deepume.viewer.learned_features import feature_count, learned_features
from deepume.viewer.panel import Panel
from deepume.viewer.scene import Scene, blend
from deepume.viewer.stage import Stage

Solve = Callable[[RigidTransform | None], Registration]
"""Registers the pair; a pose, if given, joins the hypotheses."""


class LiveViewer:
    """Serves one pair until it is stopped. Everybody who opens the address sees, and moves, the same scene."""

    def __init__(self, scene: Scene, solve: Solve, host: str = "127.0.0.1", port: int = 0):
        viser = import_package("viser", "deepume[viewer]")
        self.scene, self.solve, self.result = scene, solve, solve(None)
        self._features: Pair | None = None
        self._lock = threading.RLock()
        with _silence():
            self._server = viser.ViserServer(host=host, port=port or free_port(host), label="deepume", verbose=False)
        self._stage = Stage(self._server, scene)
        self._panel = Panel(self._server.gui, scene, feature_count())
        self._panel.offer(self.result, 0)
        self._listen()
        self._show_answer()

    @property
    def address(self) -> str:
        """Where a browser finds it."""
        return f"http://{self._server.get_host()}:{self._server.get_port()}/"

    def stop(self) -> None:
        """Close all connections and end all threads."""
        with _silence():
            self._server.stop()

    @property
    def features(self) -> Pair:
        """Learned features as seen from the answer; computed once for each answer."""
        if self._features is None:
            self._features = learned_features(self.scene, self.result.target_from_source.to(self.scene.target))
        return self._features

    @property
    def pose(self) -> RigidTransform:
        """The pose that is chosen."""
        return self._chosen.target_from_source.to(self.scene.target)

    @property
    def _chosen(self) -> Hypothesis:
        return candidates(self.result)[self._panel.chosen]

    @property
    def _shown(self) -> RigidTransform:
        """Where the aligned source is drawn: on its way from the hand to the chosen pose."""
        return blend(self._stage.hand, self.scene.place(self.pose), self._panel.part.value)

    def register_again(self) -> None:
        """Register with the pose of the handle among the hypotheses, and show the best answer nearest to it."""
        hand = self.scene.pose(self._stage.hand)
        self.result, self._features = self.solve(hand), None
        self._panel.offer(self.result, nearest_best(self.result, hand))
        self._panel.part.value = 1.0
        self._show_answer()

    def _listen(self) -> None:
        panel, stage = self._panel, self._stage
        heard = {
            self._show_answer: (panel.hypothesis,),
            self._move: (panel.part,),
            self._follow_hand: (stage.handle,),
            self._recolor: (panel.coloring, panel.channel),
            self._redraw_moments: (panel.moments, panel.moments_of),
            self._hide_and_show: (panel.start, panel.aligned, panel.target, panel.axes, panel.by_hand),
        }
        for action, controls in heard.items():
            for control in controls:
                control.on_update(lambda _, action=action: self._one_at_a_time(action))
        panel.again.on_click(lambda _: self._one_at_a_time(self.register_again))
        panel.save.on_click(self._save)

    def _one_at_a_time(self, action: Callable[[], None]) -> None:
        """The server calls the actions of controls on several threads."""
        with self._lock:
            action()

    def _show_answer(self) -> None:
        self._panel.tell(self.result, self._chosen)
        self._stage.place_aligned(self._shown)
        self._recolor()
        self._redraw_moments()

    def _move(self) -> None:
        self._stage.place_aligned(self._shown)
        if Coloring(self._panel.coloring.value) is Coloring.RESIDUAL:
            self._recolor()

    def _follow_hand(self) -> None:
        self._stage.place_start(self._stage.hand)
        self._move()

    def _hide_and_show(self) -> None:
        panel, stage = self._panel, self._stage
        stage.start.visible, stage.aligned.visible = panel.start.value, panel.aligned.value
        stage.target.visible, stage.handle.visible = panel.target.value, panel.by_hand.value
        stage.show_axes(panel.axes.value)

    def _redraw_moments(self) -> None:
        self._panel.moments_of.visible = self._panel.moments.value
        self._stage.show_moments(self._moments() if self._panel.moments.value else None)

    def _moments(self) -> tuple[Arrows, Arrows]:
        clouds = Pair(self.scene.local_source, self.scene.scene_target)
        if MomentsOf(self._panel.moments_of.value) is MomentsOf.LEARNED:
            return moment_arrows(clouds, self.features)
        return moment_arrows(clouds, Pair(*map(shell_features, clouds)))

    def _recolor(self) -> None:
        coloring = Coloring(self._panel.coloring.value)
        self._panel.channel.visible, self._panel.meaning.content = coloring is Coloring.FEATURE, MEANING[coloring]
        self._stage.color(*self._colors(coloring))

    def _colors(self, coloring: Coloring) -> tuple[Colors, Colors]:
        scene = self.scene
        if coloring is Coloring.FEATURE:
            return feature_colors(self.features, self._panel.channel.value)
        if coloring is Coloring.AREA:
            return area_colors(scene.local_source, scene.scene_target)
        source, target = plain_colors(len(scene.source), len(scene.target))
        if coloring is Coloring.RESIDUAL:
            return residual_colors(scene.residuals(scene.pose(self._shown)), scene.floor), target
        return source, target

    def _save(self, event: Any) -> None:
        text = io.BytesIO()
        np.savetxt(text, self.pose.numpy())
        event.client.send_file_download("target_from_source.txt", text.getvalue(), save_immediately=True)


def _silence() -> redirect_stdout[io.StringIO]:
    """Without it, the server prints when it starts and stops; the caller decides what to print."""
    return redirect_stdout(io.StringIO())


def free_port(host: str) -> int:
    """A port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind((host, 0))
        return probe.getsockname()[1]
