"""Golden answers of ``deepume.register``: ``cd tests && PYTHONPATH=../src python -m golden.answers`` records them.

Eighty pairs of procedural shapes, of every kind that the default method tells apart. What is compared is what a user
sees. Record them anew only where an answer is meant to change, and say so in the commit.
"""

from __future__ import annotations

import json
import platform
from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch

import deepume
from deepume.datasets import Law, PairKey, ProceduralSet, Scenario, make_pair
from deepume.transform import RigidTransform

RECORD = Path(__file__).parent / "answers.json"
COMMAND = "cd tests && PYTHONPATH=../src python -m golden.answers"
SHAPES = ProceduralSet(points=4800)
DIGITS = 13
"""Significant digits that are kept."""


@dataclass(frozen=True)
class Case:
    """One call of ``register``."""

    name: str
    scenario: Scenario
    points: int
    shape: int
    options: dict[str, Any] = field(default_factory=dict)
    scaled: float = 1.0
    """The source is this many times as large."""

    def answer(self) -> dict[str, Any]:
        pair = make_pair(SHAPES, PairKey("procedural", self.scenario, Law.HAAR, self.points, self.shape))
        result = deepume.register(self.scaled * pair.source, pair.target, **self.options)
        return summarize(result)


SIZES = {
    Scenario.ZERO: (16, 24, 40, 64, 90, 128, 160, 200, 256, 400, 600, 1000, 1500, 2000),
    Scenario.NOISE_FREE: (16, 128, 600, 1200),
    Scenario.BERNOULLI: (64, 128, 256, 512, 1024),
    Scenario.GAUSSIAN: (48, 128, 220, 320, 512, 1024),
    Scenario.ZERO_NOISE: (64, 128, 256, 512, 1024),
    Scenario.DENSITY: (128, 256, 512, 1024),
    Scenario.OUTLIERS: (64, 200, 512, 1024),
    Scenario.OVERLAP: (128, 256, 400, 600, 1024, 1400),
    Scenario.OCCLUSION: (256, 512, 800, 1024, 1200),
    Scenario.DIFFERENT: (64, 300, 1024),
}
SYMMETRIC = {"cube": 300, "cylinder": 700, "box": 1024, "nut": 500, "torus": 256, "prism": 150, "star": 1024}
OPTIONS: dict[str, tuple[dict[str, Any], float]] = {
    "fast": ({"effort": "fast"}, 1.0),
    "thorough": ({"effort": "thorough"}, 1.0),
    "scale": ({"allow_scale": True}, 25.4),
    "initial": ({"initial": RigidTransform.identity().matrix}, 1.0),
}
OPTION_PAIRS = (
    (Scenario.ZERO, 100, 3),
    (Scenario.ZERO, 512, 10),
    (Scenario.DENSITY, 700, 20),
    (Scenario.OVERLAP, 600, 4),
)


def list_cases() -> Iterator[Case]:
    shape = 0
    for scenario, sizes in SIZES.items():
        for points in sizes:
            shape += 1
            yield Case(f"{scenario}-{points}", scenario, points, shape)
    families = [SHAPES.label(index) for index in range(48)]
    for family, points in SYMMETRIC.items():
        yield Case(f"{family}-{points}", Scenario.ZERO, points, families.index(family))
    for name, (options, scaled) in OPTIONS.items():
        for scenario, points, shape in OPTION_PAIRS:
            yield Case(f"{name}-{scenario}-{points}", scenario, points, shape, options, scaled)
    yield Case("unrefined-300", Scenario.ZERO, 300, 30, {"refine": False})


def summarize(result: deepume.Registration) -> dict[str, Any]:
    """What a user sees of an answer, as numbers."""
    assert result.symmetry is not None or result.confidence is None
    return {
        "pose": list_pose(result.target_from_source),
        "score": shorten(result.score),
        "confidence": None if result.confidence is None else shorten(result.confidence),
        "ambiguous": bool(result.ambiguous),
        "orders": None if result.symmetry is None else list(result.symmetry.orders),
        "axes": None if result.symmetry is None else shorten(result.symmetry.axes),
        "covariance": None if result.covariance is None else shorten(result.covariance.diagonal()),
        "residual": None if result.residuals is None else shorten(result.residuals.mean()),
        "hypotheses": [
            [list_pose(each.target_from_source), shorten(each.score), bool(each.equivalent)]
            for each in result.hypotheses
        ],
    }


def list_pose(pose: RigidTransform) -> list[float]:
    """Two columns of the rotation, which tell the third, the translation and the scale."""
    return shorten(torch.cat([pose.rotation[:, :2].flatten(), pose.translation, pose.scale.reshape(1)]))


def shorten(values: torch.Tensor) -> Any:
    if values.dim() == 0:
        return float(f"{float(values):.{DIGITS}g}")
    return [shorten(each) for each in values]


def describe_machine() -> str:
    """What the last digits of an answer depend on."""
    lines = Path("/proc/cpuinfo").read_text().splitlines() if Path("/proc/cpuinfo").is_file() else []
    processor = next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), "unknown")
    packages = " ".join(f"{name} {version(name)}" for name in ("torch", "numpy", "scipy", "small_gicp"))
    return f"{platform.machine()}, {processor}, {packages}"


def record() -> None:
    torch.set_num_threads(1)
    answers = ",\n".join(f'"{case.name}": {json.dumps(case.answer(), separators=(",", ":"))}' for case in list_cases())
    head = f'"command": {json.dumps(COMMAND)},\n"machine": {json.dumps(describe_machine())}'
    RECORD.write_text(f'{{{head},\n"answers": {{\n{answers}\n}}}}\n')


if __name__ == "__main__":
    record()
