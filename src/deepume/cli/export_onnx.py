"""``deepume export``."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from deepume.cli.exits import Exit


@dataclass(frozen=True)
class Export:
    """Write a trained network as an ONNX file, which runs without deepume and without torch (extra "export").

    Names: deepume, deepume-small, deepume-paper. A path of weights that you trained (.safetensors) does, too.
    The file takes any number of pairs and of points. Inputs: "source" (pairs, points, 3) and "target", both in one
    frame. Outputs: "correlation" and, but for deepume-paper, "source_mean", "target_mean" and "score".
    The frame before the network and the rotation after it are a few lines of NumPy: docs/export.md shows them.

    Example: deepume export deepume -o deepume.onnx
    """

    name: tyro.conf.Positional[str]
    """Name of published weights, or path of a .safetensors file."""
    out: Annotated[Path, tyro.conf.arg(aliases=["-o"])]
    """The file to write, FILE.onnx."""

    def run(self) -> Exit:
        """Write the file and say how large it is."""
        from deepume.networks.export import export_network

        size = export_network(self.name, self.out)
        print(f"{self.out}: {size / 1e6:.2f} MB; docs/export.md shows how to run it")
        return Exit.SURE
