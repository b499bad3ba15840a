"""The state of a run on disk: written whole or not at all, and read back without running any code from it."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import torch

from deepume.errors import FileFormatError
from deepume.training.recipes.recipe import Recipe

FILE = "checkpoint.pt"


def save_checkpoint(folder: Path, state: dict[str, Any]) -> None:
    """Write ``checkpoint.pt``: first beside it, then renamed, so that a reader never sees half a file."""
    partial = folder / f"{FILE}.partial"
    with partial.open("wb") as file:
        torch.save(state, file)
        file.flush()
        os.fsync(file.fileno())
    partial.replace(folder / FILE)


def load_checkpoint(folder: Path, recipe: Recipe) -> dict[str, Any] | None:
    """The state saved in ``folder``, or None. A state of another recipe is an error: it cannot go on as this one."""
    path = folder / FILE
    if not path.is_file():
        return None
    state = torch.load(path, map_location="cpu", weights_only=True)
    saved, wanted = json.loads(state["recipe"]), json.loads(recipe_text(recipe))
    differing = [key for key in sorted(wanted | saved) if saved.get(key) != wanted.get(key)]
    if differing:
        raise FileFormatError(
            f"{path} is of recipe {saved['name']!r} and differs in {', '.join(differing)}. "
            "Give another --out folder, or the same settings as before."
        )
    return state


def recipe_text(recipe: Recipe) -> str:
    """The recipe as canonical JSON."""
    return json.dumps(recipe.as_dict(), sort_keys=True)
