"""One HTML file that shows a registration: it needs no network and can be sent to anybody."""

from __future__ import annotations

import base64
import gzip
import html
import json
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from string import Template

import torch
from torch import Tensor

from deepume.alignment.score import TRUNCATION
from deepume.errors import FileFormatError
from deepume.geometry.rotation import geodesic_angle
from deepume.io import import_package
from deepume.result import Hypothesis, Registration
from deepume.transform import RigidTransform, rotation_angle
from deepume.viewer.choices import candidates
from deepume.viewer.colors import SCALE, SOURCE_COLOR, TARGET_COLOR
from deepume.viewer.facts import Rows, pair_rows, time_rows, trust_rows
from deepume.viewer.scene import Scene

BINS = 40
"""Bars of the histogram of residuals, between 0 and TRUNCATION sampling floors; the last one has all larger ones."""
SCRIPTS = ("data.js", "views.js", "histogram.js", "strip.js", "report.js")


@dataclass(frozen=True, slots=True)
class Caption:
    """Where the clouds of the page came from."""

    source: str
    """Name of the source."""
    target: str
    """Name of the target."""
    command: str
    """The command that made the page."""


def write_report(scene: Scene, result: Registration, caption: Caption, path: Path) -> None:
    """Write the page; see :func:`make_report`."""
    page = make_report(scene, result, caption)
    try:
        path.write_text(page, encoding="utf-8")
    except OSError as error:
        raise FileFormatError(f"Cannot write {path}: {error.strerror}. Choose another place.") from error


def make_report(scene: Scene, result: Registration, caption: Caption) -> str:
    """The page as text: three linked 3-D views, every hypothesis to click through, and all that is known in words."""
    warnings = () if result.diagnostics is None else result.diagnostics.warnings
    return Template(_asset("report.html")).substitute(
        source=html.escape(caption.source),
        target=html.escape(caption.target),
        command=html.escape(caption.command),
        verdict="sure" if result.sure else "unsure",
        verdict_words="Sure" if result.sure else "Not sure",
        summary=html.escape(result.explain()),
        warnings="".join(f"<li>{html.escape(text)}</li>" for text in warnings) or "<li>None.</li>",
        trust=_definitions(trust_rows(result)),
        pair=_definitions(pair_rows(scene, result.diagnostics)),
        times=_definitions(time_rows(result.diagnostics)),
        source_color=SOURCE_COLOR,
        target_color=TARGET_COLOR,
        style=_asset("report.css"),
        data=json.dumps(page_data(scene, result)),
        plotly=_packed_plotly(),
        script="\n".join(_asset(name) for name in SCRIPTS),
    )


def page_data(scene: Scene, result: Registration) -> dict[str, object]:
    """What the scripts of the page draw: clouds, candidate poses with their residuals, the sampling floor."""
    poses = candidates(result)
    shares = torch.histc(scene.floor_distances.clamp_max(TRUNCATION * scene.floor), BINS, 0, TRUNCATION * scene.floor)
    return {
        "source": _pack(scene.local_source),
        "target": _pack(scene.scene_target),
        "start": _rows(scene.start),
        "poses": [_pose_data(scene, each, poses[0].target_from_source) for each in poses],
        "floor": scene.floor,
        "range": TRUNCATION * scene.floor,
        "floorShares": (shares / shares.sum()).tolist(),
        "colors": {"source": SOURCE_COLOR, "target": TARGET_COLOR, "scale": SCALE},
    }


def _pose_data(scene: Scene, hypothesis: Hypothesis, best: RigidTransform) -> dict[str, object]:
    pose = hypothesis.target_from_source.to(scene.target)
    from_best = geodesic_angle(pose.rotation, best.rotation.to(scene.target))
    return {
        "place": _rows(scene.place(pose)),
        "matrix": pose.matrix.tolist(),
        "angleDeg": float(rotation_angle(pose.rotation).rad2deg()),
        "fromBestDeg": float(from_best.rad2deg()),
        "scale": float(pose.scale),
        "score": float(hypothesis.score),
        "equivalent": bool(hypothesis.equivalent),
        "residuals": _pack(scene.residuals(pose)),
    }


def _rows(pose: RigidTransform) -> list[list[float]]:
    """The upper three rows of the matrix."""
    return pose.matrix[:3].tolist()


def _pack(values: Tensor) -> str:
    """Little-endian float32 in base64: what a browser reads into a typed array."""
    return base64.b64encode(values.numpy().astype("<f4").tobytes()).decode("ascii")


def _packed_plotly() -> str:
    """The drawing library, compressed: a third of its size, and browsers can unpack it."""
    offline = import_package("plotly.offline", "deepume[viewer]")
    return base64.b64encode(gzip.compress(offline.get_plotlyjs().encode(), mtime=0)).decode("ascii")


def _definitions(rows: Rows) -> str:
    return "".join(f"<dt>{html.escape(name)}</dt><dd>{html.escape(words)}</dd>" for name, words in rows)


def _asset(name: str) -> str:
    return (resources.files("deepume.viewer") / "page" / name).read_text(encoding="utf-8")
