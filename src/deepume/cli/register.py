"""``deepume register``."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, cast

import tyro

from deepume.api import DEFAULT_METHOD, EffortName, MethodName, register
from deepume.cli.command import command_line
from deepume.cli.exits import Exit
from deepume.cli.output import write_text
from deepume.io import read_points, write_points
from deepume.result import Registration
from deepume.search.policy import Effort
from deepume.viewer.picture import draw_registration
from deepume.viewer.report import Caption, write_report
from deepume.viewer.scene import make_scene


@dataclass(frozen=True)
class Register:
    """Find the rigid motion that carries SOURCE onto TARGET.

    Reads point clouds and meshes: PLY, PCD, XYZ, TXT, CSV, NPY, NPZ, OBJ, STL, OFF, GLB, LAS, LAZ, E57.
    Prints the answer in words and as a 4 x 4 matrix. Exit status: 0 for an answer it is sure of, 3 for one it is
    not sure of (it is written, too), 2 for bad input.

    Example: deepume register scan.ply model.stl -o aligned.ply --json result.json --html report.html
    """

    source: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="SOURCE")]
    """The cloud or mesh that moves."""
    target: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="TARGET")]
    """The cloud or mesh that stays."""
    output: Annotated[Path | None, tyro.conf.arg(aliases=["-o"], metavar="FILE")] = None
    """Write the moved source here (.ply, .pcd, .xyz, .txt or .npy)."""
    json: Annotated[Path | None, tyro.conf.arg(metavar="FILE")] = None
    """Write the whole result here, as JSON."""
    picture: Annotated[Path | None, tyro.conf.arg(metavar="FILE")] = None
    """Draw both clouds before and after, as a PNG."""
    html: Annotated[Path | None, tyro.conf.arg(metavar="FILE")] = None
    """Write a page that shows the result in 3-D: one file, for any browser, without a network."""
    method: Annotated[str, tyro.conf.arg(metavar="NAME")] = DEFAULT_METHOD
    """How to register; `deepume methods` lists the names."""
    effort: Annotated[str, tyro.conf.arg(metavar="NAME")] = Effort.AUTO.value
    """How far the default method searches: fast, auto or thorough."""
    time_limit: Annotated[float | None, tyro.conf.arg(metavar="SECONDS")] = None
    """Begin no further stage of the search after this time."""
    refine: bool = True
    """Refine what the method found; --no-refine gives it as it is."""
    allow_scale: bool = False
    """Let the clouds differ in size: estimate a similarity."""
    drop_invalid: bool = False
    """Leave out points with NaN or infinite coordinates."""
    seed: int = 0
    """Seed of random draws: points of meshes, thinning of large clouds."""
    device: Annotated[str | None, tyro.conf.arg(metavar="DEVICE")] = None
    """Where to compute, for example `cuda`."""
    quiet: Annotated[bool, tyro.conf.arg(aliases=["-q"])] = False
    """Print only the matrix."""

    def run(self) -> Exit:
        """Register, write the requested files, and print."""
        source, target = (read_points(path, seed=self.seed) for path in (self.source, self.target))
        result = register(
            source,
            target,
            method=cast(MethodName, self.method),  # a wrong name gets an error that lists the known ones
            effort=cast(EffortName, self.effort),
            time_limit=self.time_limit,
            refine=self.refine,
            allow_scale=self.allow_scale,
            drop_invalid=self.drop_invalid,
            seed=self.seed,
            device=self.device,
        )
        if self.output is not None:
            write_points(self.output, result.target_from_source.apply(source.to(result.target_from_source.rotation)))
        if self.json is not None:
            write_text(self.json, result.to_json())
        if self.picture is not None:
            draw_registration(source, target, result, self.picture)
        if self.html is not None:
            caption = Caption(self.source.name, self.target.name, command_line())
            write_report(make_scene(source, target), result, caption, self.html)
        print(format_matrix(result) if self.quiet else f"{result.explain()}\n{format_matrix(result)}")
        return Exit.SURE if result.sure else Exit.UNSURE


def format_matrix(result: Registration) -> str:
    """The 4 x 4 matrix as text that NumPy's ``loadtxt`` reads."""
    return "\n".join("  ".join(f"{value:20.12g}" for value in row) for row in result.target_from_source.numpy())
