"""The one training loop, for every method that learns.

A step never waits for the device: pairs are made there, the schedule needs only the clock and the number of steps, the
optimizer's own kernel drops a gradient that is not finite, and sums for the log are read only now and then.
"""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from deepume.networks.weights_files import Weights, restore_weights
from deepume.training.checkpoint import recipe_text, save_checkpoint
from deepume.training.distributed import World
from deepume.training.log import Log
from deepume.training.losses.trainable import Losses, Trainable
from deepume.training.pairs.bank import Banks
from deepume.training.pairs.pair_maker import PairMaker
from deepume.training.recipes.learning_rate import learning_rate_factor
from deepume.training.recipes.recipe import Optimizer, Precision, Recipe
from deepume.training.validation import Figures, validate

CHECKPOINT_SECONDS = 60.0
"""Time between two checkpoints: a crash loses no more work than this."""


class _Mark(NamedTuple):
    """Progress of the run at one time."""

    step: int
    pairs: int
    seconds: float


@dataclass
class Trainer:
    """The state of a run, and the steps that change it."""

    recipe: Recipe
    trainable: Trainable
    banks: Banks
    device: torch.device
    world: World = field(default_factory=World)
    budget_seconds: float | None = None
    """Length of the run by the clock; None: the recipe's number of steps."""
    log_every: int = 25
    """Steps between two lines of the log."""
    on_step: Callable[[float], None] | None = None
    """Called with the progress after each step."""
    step: int = 0
    pairs: int = 0
    """Pairs seen by all processes."""
    seconds: float = 0.0
    """Time spent in the loop, over all its parts if the run was resumed."""
    validations: int = 0
    """How many have been made."""
    figures: dict[str, Figures] = field(default_factory=dict)
    """Of the last validation."""

    def __post_init__(self) -> None:
        """Build network, average, optimizer and draws from the recipe's seed."""
        torch.manual_seed(self.recipe.seed)
        self.network = self.trainable.build(self.recipe.config).to(self.device).train()
        self.world.share_weights(self.network)
        self.averaged = deepcopy(self.network).eval().requires_grad_(False) if self.recipe.ema else None
        self.optimizer = _make_optimizer(self.network, self.recipe)
        own_seed = self.recipe.seed * 1000 + self.world.rank
        self.generator = torch.Generator(self.device).manual_seed(own_seed)
        # Sizes are drawn alike in all processes, so that none waits for another with larger clouds.
        self.host = torch.Generator().manual_seed(self.recipe.seed)
        self.maker = PairMaker(self.banks.training, self.recipe, self.host, self.generator)
        self.skipped = torch.zeros((), device=self.device)
        self._sums: dict[str, Tensor] = {}

    def run(self, folder: Path, log: Log, *, stop_after: int | None = None) -> bool:
        """Train to the end of the run; True at the end, False if it was interrupted.

        Saves a checkpoint every minute, at an interrupt (Ctrl-C, SIGTERM) and at the end. ``stop_after`` interrupts
        after that many steps in all.
        """
        start, saved = time.monotonic() - self.seconds, self.seconds
        logged = _Mark(self.step, self.pairs, self.seconds)
        with _interrupts() as interrupt:
            while True:
                self.seconds, stop = self.world.agree(time.monotonic() - start, float(bool(interrupt)))
                progress = self.progress
                if progress >= 1 or stop or (stop_after is not None and self.step >= stop_after):
                    break
                self._validate_if_due(progress, log)
                self._accumulate(self.advance(progress))
                if self.on_step is not None:
                    self.on_step(self.progress)
                if self.step % self.log_every == 0:
                    logged = self._report(start, logged, log)
                if self.seconds - saved > CHECKPOINT_SECONDS:
                    self.save(folder)
                    saved = self.seconds
        finished = self.progress >= 1
        if finished:
            self._validate(log)
        self.save(folder)
        return finished

    @property
    def progress(self) -> float:
        """0 at the start of the run, 1 at its end."""
        if self.budget_seconds is not None:
            return self.seconds / self.budget_seconds
        return self.step / self.recipe.steps

    def advance(self, progress: float) -> Losses:
        """One step: draw, loss, gradient, update, average."""
        rate = self.recipe.learning_rate * learning_rate_factor(self.recipe.schedule, progress)
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        pairs = self.maker.draw()
        with torch.autocast(self.device.type, torch.bfloat16, enabled=self.recipe.precision is Precision.BFLOAT16):
            losses = self.trainable.objective(self.network, pairs, self.recipe, self.generator)
        self.optimizer.zero_grad(set_to_none=True)
        losses.total.backward()
        self.world.average_gradients(self.network.parameters())
        norm = nn.utils.clip_grad_norm_(self.network.parameters(), self.recipe.clip)
        self._update(norm)
        self.step += 1
        self.pairs += len(pairs) * self.world.size
        return Losses(losses.total.detach(), losses.parts | {"gradient": norm})

    def _update(self, norm: Tensor) -> None:
        """Take the optimizer's step, unless the gradient is not finite; then nothing changes but the count."""
        # The fused kernels look for this attribute, as set by GradScaler, and do not change the weights where it is 1.
        not_finite = (~torch.isfinite(norm)).float()
        self.optimizer.found_inf = not_finite  # pyright: ignore[reportAttributeAccessIssue]
        self.optimizer.step()
        self.skipped += not_finite
        if self.averaged is not None:
            decay = min(self.recipe.ema, (1 + self.step) / (10 + self.step))
            means: list[Tensor] = list(self.averaged.parameters())
            values: list[Tensor] = list(self.network.parameters())
            torch._foreach_lerp_(means, values, 1 - decay)  # pyright: ignore[reportPrivateImportUsage]
            for mean, buffer in zip(self.averaged.buffers(), self.network.buffers(), strict=True):
                mean.copy_(buffer)

    @property
    def best_network(self) -> nn.Module:
        """The averaged weights where the recipe averages, else the weights: what is validated and shipped."""
        return self.network if self.averaged is None else self.averaged

    def _accumulate(self, losses: Losses) -> None:
        for name, value in {"loss": losses.total, **losses.parts}.items():
            self._sums[name] = self._sums.get(name, 0) + value.detach().float()

    def _report(self, start: float, logged: _Mark, log: Log) -> _Mark:
        """Write the means since the last report. The only place of the loop where the host waits for the device."""
        names, count = list(self._sums), self.step - logged.step
        sums = self.world.mean(torch.stack([*self._sums.values(), self.skipped])).tolist()
        self._sums.clear()
        mark = _Mark(self.step, self.pairs, time.monotonic() - start)
        log.write(
            "train",
            step=self.step,
            seconds=round(mark.seconds, 2),
            progress=round(self.progress, 5),
            rate=self.optimizer.param_groups[0]["lr"],
            pairs=self.pairs,
            pairs_per_second=round((mark.pairs - logged.pairs) / max(mark.seconds - logged.seconds, 1e-9), 1),
            skipped=sums[-1],
            **{name: value / count for name, value in zip(names, sums, strict=False)},
        )
        return mark

    def _validate_if_due(self, progress: float, log: Log) -> None:
        due = int(progress / self.recipe.validation.every)
        if due > self.validations:
            self.validations = due
            self._validate(log)

    def _validate(self, log: Log) -> None:
        if self.world.leads:
            self.figures = validate(self.trainable, self.best_network, self.banks.validation, self.recipe)
            values = {name: asdict(figures) for name, figures in self.figures.items()}
            log.write("validation", step=self.step, seconds=round(self.seconds, 2), **values)

    def save(self, folder: Path) -> None:
        """Write everything that a resumed run needs to go on as if it had not stopped."""
        draws = self.world.gather(self.generator.get_state())
        if self.world.leads:
            save_checkpoint(folder, self._state(draws))

    def _state(self, draws: list[Tensor]) -> dict[str, Any]:
        return {
            "recipe": recipe_text(self.recipe),
            "step": self.step,
            "pairs": self.pairs,
            "seconds": self.seconds,
            "validations": self.validations,
            "skipped": self.skipped,
            "network": self.network.state_dict(),
            "averaged": None if self.averaged is None else self.averaged.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "draws": draws,
            "host": self.host.get_state(),
            "torch": torch.get_rng_state(),
        }

    def begin_with(self, weights: Weights) -> None:
        """Take weights that were trained before instead of random ones."""
        for network in (self.network, self.averaged):
            if network is not None:
                restore_weights(network, self.recipe.config, weights)

    def restore(self, state: dict[str, Any]) -> None:
        """Continue a run where :meth:`save` left it."""
        self.step, self.pairs, self.seconds = state["step"], state["pairs"], state["seconds"]
        self.validations = state["validations"]
        self.skipped.copy_(state["skipped"])
        self.network.load_state_dict(state["network"])
        if self.averaged is not None:
            self.averaged.load_state_dict(state["averaged"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.generator.set_state(state["draws"][self.world.rank])
        self.host.set_state(state["host"])
        torch.set_rng_state(state["torch"])


def _make_optimizer(network: nn.Module, recipe: Recipe) -> torch.optim.Optimizer:
    kind = torch.optim.Adam if recipe.optimizer is Optimizer.ADAM else torch.optim.AdamW
    return kind(network.parameters(), lr=recipe.learning_rate, weight_decay=recipe.weight_decay, fused=True)


@contextmanager
def _interrupts() -> Iterator[list[int]]:
    """A list of the requests to stop, by the user or the system; the second request stops at once."""
    requests: list[int] = []

    def note(number: int, _frame: object) -> None:
        if requests:
            raise KeyboardInterrupt
        requests.append(number)

    try:
        before = {number: signal.signal(number, note) for number in (signal.SIGINT, signal.SIGTERM)}
    except ValueError:  # only the main thread may listen
        before = {}
    try:
        yield requests
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
