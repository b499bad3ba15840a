"""``deepume train``."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

import tyro

from deepume.cli.exits import Exit
from deepume.cli.progress import Meter
from deepume.training.distributed import join_world
from deepume.training.recipes.our_recipes import get_recipe
from deepume.training.recipes.recipe import override, parse_change
from deepume.training.run import train_recipe


@dataclass(frozen=True)
class Train:
    """Train a network by a recipe; started again with the same --out, it goes on where it stopped.

    Recipes: paper, paper-no-preprocessing, paper-feature-resampling, paper-mlp-head, default, finish (goes on from
    runs/default), small, tiny, tiny-paper; pointnetlk, dcp-v1, dcp, deepgmr, rgm, each also for small angles: NAME-60.
    Writes NAME.safetensors, log.jsonl and checkpoint.pt; Ctrl-C saves first. On several GPUs:
    torchrun --nproc-per-node N -m deepume.cli.main train RECIPE ...

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
    tensorboard: bool = False
    """Write TensorBoard curves too."""
    log_every: int = 25
    """Steps between two lines of the log."""
    commit: str | None = None
    """Commit to write into the weights, where there is no checkout."""
    change: tuple[str, ...] = ()
    """Fields of the recipe to replace, such as batch=128 config.passes=3."""
    quiet: Annotated[bool, tyro.conf.arg(aliases=["-q"])] = False
    """Print only the outcome; the log file has the rest."""

    def run(self) -> Exit:
        """Train under a progress bar; on a pipe, print a line for each event. Of several processes, one prints."""
        recipe = override(get_recipe(self.recipe), dict(map(parse_change, self.change)))
        leads = join_world().leads
        with Meter("steps", 1.0, quiet=self.quiet or not leads) as meter:
            figures = CurrentFigures()

            def hear(line: str) -> None:
                figures.hear(line)
                meter.say(line)

            outcome = train_recipe(
                recipe,
                data=self.data,
                out=self.out,
                budget_seconds=self.budget_seconds,
                device=self.device,
                tensorboard=self.tensorboard,
                log_every=self.log_every,
                commit=self.commit,
                printer=hear,
                on_step=lambda done: meter.update(min(done, 1.0), recipe.name, str(figures)),
            )
        if leads:
            print(f"{outcome.weights}: {outcome.steps} steps in {outcome.seconds:.0f} s")
        return Exit.SURE if outcome.finished else Exit.UNSURE


@dataclass
class CurrentFigures:
    """The figures of the progress bar, taken from the lines of the log, where each follows its name."""

    values: dict[str, str] = field(default_factory=dict)

    def hear(self, line: str) -> None:
        """Read the figures in a line."""
        found = re.findall(r"(\S*\b(?:loss|pairs_per_second|median_deg)) (\S+)", line)
        self.values |= {re.sub("[._]", " ", name): value for name, value in found}

    def __str__(self) -> str:
        return ", ".join(f"{name} {value}" for name, value in self.values.items())
