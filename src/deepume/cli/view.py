"""``deepume view``."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, cast

import tyro

from deepume.api import DEFAULT_METHOD, MethodName, register
from deepume.cli.exits import Exit
from deepume.io import read_points
from deepume.viewer.live import LiveViewer
from deepume.viewer.scene import make_scene


@dataclass(frozen=True)
class View:
    """Register SOURCE to TARGET and show both in the browser, live, until Ctrl-C.

    Toggle the clouds, move the source from start to answer, pick a hypothesis, color by residual, learned feature or
    area weight, see principal frames and moment vectors, move the source by hand and register again, save the pose.

    Example: deepume view scan.ply model.stl
    """

    source: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="SOURCE")]
    """The cloud or mesh that moves."""
    target: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="TARGET")]
    """The cloud or mesh that stays."""
    method: Annotated[str, tyro.conf.arg(metavar="NAME")] = DEFAULT_METHOD
    """How to register; `deepume methods` lists the names."""
    allow_scale: bool = False
    """Let the clouds differ in size: estimate a similarity."""
    drop_invalid: bool = False
    """Leave out points with NaN or infinite coordinates."""
    seed: int = 0
    """Seed of random draws: points of meshes, thinning of large clouds."""
    host: str = "127.0.0.1"
    """Address to listen on; the default lets in only this machine, 0.0.0.0 everybody."""
    port: int = 0
    """Port to listen on; 0: a free one."""

    def run(self) -> Exit:
        """Register, serve, and wait for Ctrl-C."""
        source, target = (read_points(path, seed=self.seed) for path in (self.source, self.target))
        viewer = LiveViewer(
            make_scene(source, target),
            lambda initial: register(
                source,
                target,
                method=cast(MethodName, self.method),
                initial=initial,
                allow_scale=self.allow_scale,
                drop_invalid=self.drop_invalid,
                seed=self.seed,
            ),
            self.host,
            self.port,
        )
        try:  # from the line on that tells of Ctrl-C
            print(f"Open {viewer.address} in a browser. Ctrl-C stops.", flush=True)
            threading.Event().wait()
        except KeyboardInterrupt:
            print("Stopped.")
        finally:
            viewer.stop()
        return Exit.SURE
