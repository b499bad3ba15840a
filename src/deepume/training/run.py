"""A whole training run: from a recipe and a folder of shapes to a weights file."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

import torch

from deepume.errors import DeviceError, require_known
from deepume.io.checkout import find_commit
from deepume.networks.storage import Storage
from deepume.networks.weights_files import SUFFIX, Card, load_weights, save_weights
from deepume.training.checkpoint import load_checkpoint
from deepume.training.distributed import World, join_world
from deepume.training.log import Log, Printer, SilentLog
from deepume.training.loop import Trainer
from deepume.training.losses.objectives import TRAINABLES
from deepume.training.pairs.bank import load_banks
from deepume.training.recipes.recipe import Recipe
from deepume.training.validation import Figures


@dataclass(frozen=True, slots=True)
class Outcome:
    """Result of a run."""

    finished: bool
    """False where it was interrupted: start it again and it goes on."""
    weights: Path
    """The weights file; of an interrupted run, those reached so far."""
    steps: int
    """Steps taken, over all parts of the run."""
    seconds: float
    """Time in the loop, over all parts of the run."""
    figures: dict[str, Figures]
    """The last validation, by scenario."""


def train_recipe(
    recipe: Recipe,
    *,
    data: Path | None,
    out: Path,
    budget_seconds: float | None = None,
    device: str | None = None,
    tensorboard: bool = False,
    log_every: int = 25,
    commit: str | None = None,
    printer: Printer | None = None,
    on_step: Callable[[float], None] | None = None,
) -> Outcome:
    """Train a recipe and write ``NAME.safetensors``, ``log.jsonl`` and ``checkpoint.pt`` into ``out``.

    If ``out`` has a checkpoint of the same recipe, the run goes on from there. The schedule follows the clock if
    ``budget_seconds`` is given (all parts of a resumed run count, the last validation does not), else the
    recipe's steps. ``on_step`` is called with the progress, 0 to 1, after each step.
    """
    require_known("trainable method", recipe.method, list(TRAINABLES))
    world = join_world()
    out.mkdir(parents=True, exist_ok=True)
    log = Log(out, printer, tensorboard=tensorboard) if world.leads else SilentLog()
    state = load_checkpoint(out, recipe)
    start = load_weights(recipe.start) if recipe.start and state is None else None
    trainer = _prepare(recipe, data, _device(device, world), world, budget_seconds, log_every)
    trainer.on_step = on_step
    if state is not None:
        trainer.restore(state)
    elif start is not None:
        trainer.begin_with(start)
    commit = commit or find_commit()
    log.write("resume" if state else "start", **_circumstances(trainer, commit))
    finished = trainer.run(out, log)
    path = out / f"{recipe.name}{SUFFIX}"
    if world.leads:
        digest = save_weights(path, trainer.best_network, recipe.config, _card(trainer, commit), storage=Storage.HALF)
        log.write("end", step=trainer.step, seconds=trainer.seconds, finished=finished, sha256=digest)
    log.close()
    return Outcome(finished, path, trainer.step, trainer.seconds, trainer.figures)


def _prepare(
    recipe: Recipe,
    data: Path | None,
    device: torch.device,
    world: World,
    budget_seconds: float | None,
    log_every: int,
) -> Trainer:
    trainable = TRAINABLES[recipe.method]
    banks = load_banks(recipe, data, device, with_symmetry=trainable.uses_symmetry)
    return Trainer(recipe, trainable, banks, device, world, budget_seconds, log_every)


def _device(name: str | None, world: World) -> torch.device:
    """The named device; without a name, the GPU of this process, or the CPU."""
    if name is None:
        return torch.device("cuda", world.local_rank) if torch.cuda.is_available() else torch.device("cpu")
    device = torch.device(name)
    if device.type == "cuda" and not torch.cuda.is_available():
        raise DeviceError(f"Device {name!r} is requested, but torch finds no GPU here. Use --device cpu.")
    return device


def _circumstances(trainer: Trainer, commit: str) -> dict[str, object]:
    banks = trainer.banks
    return {
        "step": trainer.step,
        "seconds": round(trainer.seconds, 2),
        "recipe": trainer.recipe.as_dict(),
        "budget_seconds": trainer.budget_seconds,
        "training_shapes": list(banks.training.names),
        "validation_shapes": list(banks.validation.names),
        "parameters": sum(parameter.numel() for parameter in trainer.network.parameters()),
        "torch": torch.__version__,
        "device": device_name(trainer.device),
        "processes": trainer.world.size,
        "commit": commit,
    }


def _card(trainer: Trainer, commit: str) -> Card:
    return Card(
        recipe=trainer.recipe.as_dict(),
        data=trainer.banks.training.names,
        seconds=round(trainer.seconds, 1),
        steps=trainer.step,
        pairs=trainer.pairs,
        device=device_name(trainer.device),
        commit=commit,
        validation={name: asdict(figures) for name, figures in trainer.figures.items()},
    )


def device_name(device: torch.device) -> str:
    """The make of a GPU, or ``cpu``."""
    return torch.cuda.get_device_name(device) if device.type == "cuda" else device.type
