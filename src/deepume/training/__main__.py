"""``python -m deepume.training RECIPE --data FOLDER --out FOLDER``: training with nothing but torch and numpy."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from deepume.errors import DeepumeError
from deepume.training.recipes.our_recipes import RECIPES, get_recipe
from deepume.training.recipes.recipe import override, parse_change
from deepume.training.run import train_recipe


def main() -> int:
    """Parse, train, print; exit 0 when finished, 3 when interrupted, 2 on bad input."""
    given = _parser().parse_args()
    try:
        recipe = override(get_recipe(given.recipe), dict(given.set))
        outcome = train_recipe(
            recipe,
            data=given.data,
            out=given.out,
            budget_seconds=given.budget_seconds,
            device=given.device,
            tensorboard=given.tensorboard,
            log_every=given.log_every,
            commit=given.commit,
        )
    except DeepumeError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    print(outcome.weights)
    return 0 if outcome.finished else 3


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m deepume.training", description=__doc__)
    parser.add_argument("recipe", help=f"one of {', '.join(RECIPES)}")
    parser.add_argument("--data", type=Path, help="folder of packs (*.npz)")
    parser.add_argument("--out", type=Path, required=True, help="folder for weights, log and checkpoint")
    parser.add_argument("--budget-seconds", type=float, help="length of the run by the clock, resumed parts included")
    parser.add_argument("--device", help="cpu, cuda, cuda:1; the GPU if there is one")
    parser.add_argument("--tensorboard", action="store_true", help="also write TensorBoard curves")
    parser.add_argument("--log-every", type=int, default=25, help="steps between two lines of the log")
    parser.add_argument("--commit", help="commit to note in the weights, where there is no checkout")
    parser.add_argument(
        "--set", action="append", default=[], type=parse_change, metavar="FIELD=VALUE",
        help="replace a field of the recipe, such as batch=128 or config.passes=3",
    )  # fmt: skip
    return parser


if __name__ == "__main__":
    sys.exit(main())
