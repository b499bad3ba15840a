"""``deepume train``."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from deepume.cli.exits import Exit
from deepume.training.recipe import override, parse_change
from deepume.training.recipes import get_recipe
from deepume.training.run import train_recipe


@dataclass(frozen=True)
class Train:
    """Train a network by a recipe; started again with the same --out, it goes on where it stopped.

    Recipes: paper, paper-no-preprocessing, paper-feature-resampling, paper-mlp-head, default, small, tiny,
    tiny-paper; pointnetlk, dcp-v1, dcp, deepgmr, rgm, each also for small angles: NAME-60. Writes NAME.safetensors,
    log.jsonl and checkpoint.pt; Ctrl-C saves first. On several GPUs:
    torchrun --nproc-per-node N -m deepume.training RECIPE ...

    Example: deepume train default --data DATA --out runs/default --budget-seconds 900
    """

    recipe: tyro.conf.Positional[str]
    """Name of the recipe."""
    out: Annotated[Path, tyro.conf.arg(aliases=["-o"])]
    """Folder for weights, log and checkpoint."""
    data: Path | None = None
    """Folder of the packs of shapes; recipes on procedural shapes need none."""
    budget_seconds: float | None = None
    """Length of the run by the clock, parts before an interruption included; default: the recipe's steps."""
    device: str | None = None
    """Where to train; default: the GPU if there is one."""
    compile: bool = False
    """Compile the network first: slower to start, faster to run."""
    tensorboard: bool = False
    """Write TensorBoard curves too."""
    change: tuple[str, ...] = ()
    """Fields of the recipe to replace, such as batch=128 config.passes=3."""

    def run(self) -> Exit:
        """Train under a progress bar; on a pipe, print a line for each event."""
        recipe = override(get_recipe(self.recipe), dict(map(parse_change, self.change)))
        console = Console(stderr=True)
        columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeElapsedColumn())
        with Progress(*columns, TimeRemainingColumn(), console=console, disable=not console.is_terminal) as progress:
            task = progress.add_task(recipe.name, total=1.0)
            outcome = train_recipe(
                recipe,
                data=self.data,
                out=self.out,
                budget_seconds=self.budget_seconds,
                device=self.device,
                compile=self.compile,
                tensorboard=self.tensorboard,
                printer=lambda line: console.print(line, highlight=False),
                on_step=lambda done: progress.update(task, completed=min(done, 1.0)),
            )
        print(f"{outcome.weights}: {outcome.steps} steps in {outcome.seconds:.0f} s")
        return Exit.SURE if outcome.finished else Exit.UNSURE
