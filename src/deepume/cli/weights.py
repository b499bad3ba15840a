"""``deepume weights`` and ``deepume export``: trained networks as files."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro
from rich.console import Console
from rich.table import Table

from deepume.cli.exits import Exit
from deepume.networks.published_files import GRAPH, Entry, FileState, list_weights
from deepume.networks.weights_files import load_weights


@dataclass(frozen=True)
class Weights:
    """List trained weights and exported networks, and verify each by its SHA-256; exit status 1 if one is damaged."""

    def run(self) -> Exit:
        """Print the table."""
        entries = list_weights()
        table = Table("weights", "state", "kB", "trained", "data")
        for entry in entries:
            table.add_row(entry.name, entry.state, *_facts(entry))
        graphs = list_weights(GRAPH)
        for entry in graphs:
            table.add_row(entry.name + GRAPH, entry.state, _size(entry), "exported", "")
        Console().print(table)
        return Exit.FAULT if any(entry.state is FileState.DIFFERENT for entry in entries + graphs) else Exit.SURE


def _facts(entry: Entry) -> tuple[str, str, str]:
    """Size, training and data of a file that can be read."""
    if entry.path is None or entry.state is FileState.DIFFERENT:
        return "", "", ""
    card = load_weights(entry.path).card
    trained = f"{card.steps:,} steps, {card.seconds:.0f} s on {card.device}"
    return _size(entry), trained, ", ".join(card.data)


def _size(entry: Entry) -> str:
    return "" if entry.path is None else f"{entry.path.stat().st_size / 1e3:,.0f}"


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
