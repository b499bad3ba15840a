"""``deepume demo``."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import torch
import tyro
from torch import Tensor

from deepume.api import register
from deepume.cli.command import command_line
from deepume.cli.exits import Exit
from deepume.cli.output import make_folder, write_text
from deepume.datasets import Law, draw_motion, make_shape
from deepume.datasets.pairs.metrics import rotation_error_deg
from deepume.errors import MissingPackageError
from deepume.io import write_points
from deepume.result import Registration
from deepume.transform import RigidTransform, rotation_angle
from deepume.viewer.picture import draw_registration
from deepume.viewer.report import Caption, write_report
from deepume.viewer.scene import make_scene


@dataclass(frozen=True)
class Demo:
    """Make two clouds of one object, differently sampled and moved, register them, and compare with the truth.

    Writes source.ply, target.ply, aligned.ply, result.json, demo.png and, where plotly is installed, report.html.
    """

    folder: Annotated[Path, tyro.conf.arg(aliases=["-o"])] = Path("demo")
    """Where to write."""
    shape: str = "airplane"
    """A family of procedural shapes: airplane, chair, mug, body, ..."""
    points: int = 1024
    """Points in each cloud; the two have none in common."""
    seed: int = 0
    """Another seed, another object and another motion."""

    def run(self) -> Exit:
        """Make, register, compare, write."""
        generator = torch.Generator().manual_seed(self.seed)
        shape = make_shape(self.shape, generator=generator)
        truth = draw_motion(Law.HAAR, generator=generator)
        source = shape.sample(self.points, generator=generator)
        target = truth.apply(shape.sample(self.points, generator=generator))
        result = register(source, target)
        make_folder(self.folder)
        clouds = {"source": source, "target": target, "aligned": result.target_from_source.apply(source)}
        for name, cloud in clouds.items():
            write_points(self.folder / f"{name}.ply", cloud)
        write_text(self.folder / "result.json", result.to_json())
        draw_registration(source, target, result, self.folder / "demo.png")
        print(f"Two samplings of one {self.shape}, {self.points} points each, none in common.")
        print(f"truth   {_describe(truth)}")
        print(f"answer  {_describe(result.target_from_source)}")
        print(f"error   {float(rotation_error_deg(result.target_from_source, truth)):.3f} degrees")
        print(result.explain())
        print(f"Clouds, result.json and the picture demo.png are in {self.folder}/.")
        print(self._report(source, target, result))
        return Exit.SURE if result.sure else Exit.UNSURE

    def _report(self, source: Tensor, target: Tensor, result: Registration) -> str:
        """Write the page, and say where it is; without plotly, say what is missing."""
        path = self.folder / "report.html"
        try:
            write_report(make_scene(source, target), result, Caption("source.ply", "target.ply", command_line()), path)
        except MissingPackageError as error:
            return f"For a page that shows it in 3-D as well: {error}"
        return f"Open {path} in a browser to see it in 3-D."


def _describe(pose: RigidTransform) -> str:
    angle = math.degrees(float(rotation_angle(pose.rotation)))
    shift = ", ".join(f"{value:+.4f}" for value in pose.translation.tolist())
    return f"turned by {angle:8.3f} degrees, moved by ({shift})"
