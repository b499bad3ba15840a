"""``python -m deepume.training.held_out WEIGHTS ...``: figures of a trained network on held-out shapes.

The shapes are those that its recipe holds out, the pairs those of its validation; ``--set`` changes them. The home
protocol of the compared networks, for instance: ``--set law=euler-45 --set 'validation.scenarios=("noise-free",)'``.
"""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch

from deepume.errors import DeepumeError
from deepume.networks.weights_files import config_of, load_weights, restore_weights
from deepume.training.losses.objectives import TRAINABLES
from deepume.training.pairs.bank import load_banks
from deepume.training.recipes.our_recipes import get_recipe
from deepume.training.recipes.recipe import override, parse_change
from deepume.training.validation import Figures, validate


def measure_weights(
    name_or_path: str | Path, changes: dict[str, Any], *, data: Path | None = None, device: str = "cpu"
) -> dict[str, Figures]:
    """Figures by scenario, with some fields of the recipe replaced; no refinement."""
    weights, place = load_weights(name_or_path), torch.device(device)
    recipe = override(get_recipe(weights.card.recipe["name"]), changes)
    trainable, config = TRAINABLES[recipe.method], config_of(weights, type(recipe.config))
    network = trainable.build(config)
    restore_weights(network, config, weights)
    banks = load_banks(recipe, data, place, with_symmetry=False)
    return validate(trainable, network.to(place), banks.validation, recipe)


def main() -> int:
    """Parse, measure, print JSON; exit 2 on bad input."""
    parser = argparse.ArgumentParser(prog="python -m deepume.training.held_out", description=__doc__)
    parser.add_argument("weights", help="name of published weights, or path of a file")
    parser.add_argument("--data", type=Path, help="folder of packs (*.npz)")
    parser.add_argument("--device", default="cpu", help="cpu, cuda")
    parser.add_argument("--set", action="append", default=[], type=parse_change, metavar="FIELD=VALUE",
                        help="replace a field of the recipe, such as law=euler-45 or validation.pairs=64")  # fmt: skip
    given = parser.parse_args()
    try:
        figures = measure_weights(given.weights, dict(given.set), data=given.data, device=given.device)
    except DeepumeError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    print(json.dumps({name: asdict(each) for name, each in figures.items()}, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
