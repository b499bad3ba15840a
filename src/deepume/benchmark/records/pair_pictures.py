"""Pictures of pairs beside a record: the clouds themselves, which a record does not hold."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from jaxtyping import Bool, Float
from torch import Tensor

from deepume.benchmark.records.figures import COLORS
from deepume.benchmark.rows.measure import answer_pair, compare
from deepume.benchmark.suites.suite import Condition, Suite
from deepume.benchmark.suites.sweeps import draw_of
from deepume.datasets import Pair, make_pair, open_set
from deepume.errors import CloudShapeError, MissingPackageError
from deepume.geometry.frames import principal_frame
from deepume.geometry.neighbors import nearest
from deepume.io.pictures import load_pyplot, to_png
from deepume.networks.weights_files import WeightsError
from deepume.transform import RigidTransform

SAME_PLACE = 1e-9
"""Points closer than this are one point of both clouds."""
BOX = 7
"""A box among the procedural shapes: half turns about its axes change nothing."""
SHOWN_NOISES = (0.09, 0.3)
TEASER = ("identity", "ume-3", "dcp", "deepgmr", "deepume-paper", "auto")
SIZES = (5, 5, 12)
"""Of points only in the source, only in the target, and in both; the last can be few."""


def draw_picture(suite: Suite, folder: Path | None, path: Path) -> None:
    """Write the picture of a suite beside its record; nothing for suites that have none."""
    draw = PICTURES.get(suite.name)
    if draw is not None:
        path.with_suffix(".png").write_bytes(to_png(draw(load_pyplot(), suite, folder)))


def draw_extremes(pyplot: Any, suite: Suite, folder: Path | None) -> Any:
    """One shape thinned in every way of the suite."""
    return _draw_pairs(pyplot, {_title(each): _pair_of(each, suite, folder) for each in suite.conditions()})


def draw_noises(pyplot: Any, suite: Suite, folder: Path | None) -> Any:
    """One shape sampled twice, and with the paper's noise taken as a standard deviation and as a variance."""
    shown = [each for each in suite.conditions() if dict(each.parameters).get("std") in (None, *SHOWN_NOISES)]
    return _draw_pairs(pyplot, {_title(each): _pair_of(each, suite, folder) for each in shown})


def draw_half_turn(pyplot: Any, suite: Suite, folder: Path | None) -> Any:
    """A box at its true pose and half a turn from it: both fit."""
    pair = _pair_of(next(suite.conditions()), suite, folder, BOX)
    return _draw_answers(pyplot, pair, ("identity", "truth-gicp", "half-turn-gicp"))


def draw_teaser(pyplot: Any, suite: Suite, folder: Path | None) -> Any:
    """The answers that the paper shows to one pair, and ours."""
    return _draw_answers(pyplot, _pair_of(next(suite.conditions()), suite, folder), TEASER)


PICTURES: dict[str, Callable[[Any, Suite, Path | None], Any]] = {
    "extremes": draw_extremes,
    "noise": draw_noises,
    "ambiguity": draw_half_turn,
    "teaser": draw_teaser,
}
"""Suites that show clouds."""


def _pair_of(condition: Condition, suite: Suite, folder: Path | None, number: int = 0) -> Pair:
    dataset = open_set(condition.set, folder)
    key = condition.keys(dataset, number + 1, suite.seed)[number]
    return make_pair(dataset, key, draw=draw_of(condition))


def _title(condition: Condition) -> str:
    return "\n".join([condition.scenario, *(f"{name} {value:g}" for name, value in condition.parameters)])


def _draw_pairs(pyplot: Any, pairs: dict[str, Pair]) -> Any:
    """Each pair at its true pose: points only in the source, only in the target, and in both."""
    figure, panels = _make_panels(pyplot, len(pairs))
    for panel, (title, pair) in zip(panels, pairs.items(), strict=True):
        _draw_pair(panel, pair, pair.target_from_source)
        panel.set_title(title, fontsize=9)
    names = ["only source", "only target", "both"]
    figure.legend(panels[0].collections, names, loc="outside lower center", ncols=3, frameon=False, markerscale=2)
    return figure


def _draw_answers(pyplot: Any, pair: Pair, methods: Sequence[str]) -> Any:
    """The pair after each method, with its errors; methods that cannot run here are left out."""
    answers = []
    for name in methods:
        try:
            answers.append((name, answer_pair(name, pair)))
        except (MissingPackageError, WeightsError, CloudShapeError):
            continue
    figure, panels = _make_panels(pyplot, len(answers))
    for panel, (name, answer) in zip(panels, answers, strict=True):
        _draw_pair(panel, pair, answer.target_from_source)
        figures = compare(answer, pair)
        distances = f"d_C {figures.chamfer_squared:.4f}, d_H {figures.hausdorff_squared:.3f}"
        panel.set_title(f"{name}\n{distances}, RMSE(R) {figures.rmse_r_paper:.1f}°", fontsize=8)
    return figure


def _make_panels(pyplot: Any, count: int) -> tuple[Any, list[Any]]:
    figure, panels = pyplot.subplots(1, count, figsize=(2.9 * count, 3.4), squeeze=False, layout="constrained")
    return figure, list(panels[0])


def _draw_pair(panel: Any, pair: Pair, pose: RigidTransform) -> None:
    """Both clouds seen along the object's shortest axis, so that it lies flat, whatever noise is on the target."""
    frame = principal_frame(pair.target_from_source.apply(pair.source))
    source, target = frame.to_local(pose.apply(pair.source)), frame.to_local(pair.target)
    shared = _shared(source, target)
    parts = (source[~shared], target[~_shared(target, source)], source[shared])
    for points, color, size in zip(parts, COLORS, SIZES, strict=False):
        panel.scatter(*points[:, :2].T, s=size, color=color, alpha=0.8, linewidths=0)
    panel.set_aspect("equal", adjustable="datalim")
    panel.set_axis_off()


def _shared(points: Float[Tensor, "N 3"], others: Float[Tensor, "M 3"]) -> Bool[Tensor, "N"]:
    return nearest(points, others).distances < SAME_PLACE
