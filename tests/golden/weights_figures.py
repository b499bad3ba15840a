"""Figures that pin the shipped weights: ``python -m golden.weights_figures`` in ``tests/`` records them.

Few pairs of small procedural clouds: enough to notice a network that no longer does what it did, not to judge it.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

from deepume.networks.weights_files import list_weights
from deepume.training.held_out import measure_weights

RECORD = Path(__file__).parent / "weights_figures.json"
CHANGES = {
    "shapes": (("procedural", 1.0, 64),),
    "downweight": (),
    "validation.pairs": 12,
    "validation.points": 128,
    "validation.scenarios": ("zero",),
}
COMMAND = "cd tests && PYTHONPATH=../src python -m golden.weights_figures"


def weights_here() -> dict[str, Path]:
    """All weights files of this checkout, by name."""
    return {entry.name: entry.path for entry in list_weights() if entry.path is not None}


def figures_of(path: Path) -> dict[str, float]:
    """What a network does on the pinned pairs, under the law of its own recipe."""
    return asdict(measure_weights(path, CHANGES)["zero"])


if __name__ == "__main__":
    RECORD.write_text(json.dumps({name: figures_of(path) for name, path in weights_here().items()}, indent=1) + "\n")
