import json
import os
import signal
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from torch import nn

from deepume.errors import FileFormatError
from deepume.training.checkpoint import load_checkpoint
from deepume.training.log import Log, SilentLog
from deepume.training.loop import Trainer
from deepume.training.losses.objectives import TRAINABLES
from deepume.training.losses.trainable import Losses
from deepume.training.pairs.bank import Banks
from deepume.training.pairs.pair_maker import PairMaker, Pairs
from deepume.training.recipes.our_recipes import RECIPES
from deepume.training.recipes.recipe import Recipe


def make_trainer(recipe: Recipe, banks: Banks, **settings) -> Trainer:
    return Trainer(recipe, TRAINABLES[recipe.method], banks, torch.device("cpu"), **settings)


@torch.no_grad()
def loss_on_fixed_pairs(trainer: Trainer) -> float:
    maker = PairMaker(trainer.banks.training, trainer.recipe, torch.Generator(), torch.Generator().manual_seed(5))
    pairs, generator = maker.draw_sized(128, 48, 48), torch.Generator().manual_seed(6)
    return trainer.trainable.objective(trainer.best_network, pairs, trainer.recipe, generator).total.item()


def same_weights(first: nn.Module, second: nn.Module) -> bool:
    pairs = zip(first.state_dict().values(), second.state_dict().values(), strict=True)
    return all(torch.equal(one, other) for one, other in pairs)


@pytest.mark.parametrize(("name", "points"), [("tiny", 48), ("tiny-paper", 48)])
def test_the_loss_falls(banks: Banks, name: str, points: int):
    recipe = replace(RECIPES[name], points=((points, 1.0),), batch=8, learning_rate=3e-3, steps=40)
    trainer = make_trainer(recipe, banks)
    before = loss_on_fixed_pairs(trainer)
    while trainer.progress < 1:
        trainer.advance(trainer.progress)
    assert loss_on_fixed_pairs(trainer) < 0.92 * before


def test_an_interrupted_run_ends_where_an_uninterrupted_one_does(banks: Banks, recipe: Recipe, tmp_path: Path):
    whole = make_trainer(recipe, banks)
    assert whole.run(tmp_path, SilentLog())
    assert (whole.step, whole.validations) == (recipe.steps, 1)
    (tmp_path / "parts").mkdir()
    for stop in (5, 8, None):
        part = make_trainer(recipe, banks)
        state = load_checkpoint(tmp_path / "parts", recipe)
        if state is not None:
            part.restore(state)
        assert part.run(tmp_path / "parts", SilentLog(), stop_after=stop) == (stop is None)
    assert part.step == whole.step
    assert same_weights(part.network, whole.network)
    assert same_weights(part.best_network, whole.best_network)
    assert not same_weights(whole.network, whole.best_network)
    assert part.figures == whole.figures


def test_a_gradient_that_is_not_finite_changes_nothing_but_the_count(banks: Banks, recipe: Recipe):
    trainer = make_trainer(recipe, banks)
    trainer.advance(0.5)
    objective = trainer.trainable.objective

    def spoiled(network: nn.Module, pairs: Pairs, recipe: Recipe, generator: torch.Generator) -> Losses:
        losses = objective(network, pairs, recipe, generator)
        return losses._replace(total=losses.total * torch.nan)

    before = {name: value.clone() for name, value in trainer.network.state_dict().items()}
    trainer.trainable = replace(trainer.trainable, objective=spoiled)
    trainer.advance(0.5)
    assert all(torch.equal(value, before[name]) for name, value in trainer.network.state_dict().items())
    assert trainer.skipped == 1
    trainer.trainable = replace(trainer.trainable, objective=objective)
    trainer.advance(0.5)
    assert trainer.skipped == 1
    changed = (not torch.equal(value, before[name]) for name, value in trainer.network.state_dict().items())
    assert any(changed)
    assert all(torch.isfinite(value).all() for value in trainer.network.state_dict().values())


def test_the_budget_counts_over_resumes(banks: Banks, recipe: Recipe, tmp_path: Path):
    trainer = make_trainer(recipe, banks, budget_seconds=3.0)
    assert not trainer.run(tmp_path, SilentLog(), stop_after=1)
    state = load_checkpoint(tmp_path, recipe)
    assert state is not None
    state["seconds"] = 2.8
    resumed = make_trainer(recipe, banks, budget_seconds=3.0)
    resumed.restore(state)
    assert resumed.progress > 0.9
    assert resumed.run(tmp_path, SilentLog())
    assert 3.0 <= resumed.seconds < 5.0


def test_an_interrupt_saves_and_leaves(banks: Banks, recipe: Recipe, tmp_path: Path):
    trainer = make_trainer(recipe, banks)
    trainer.on_step = lambda progress: os.kill(os.getpid(), signal.SIGINT) if trainer.step == 3 else None
    before = signal.getsignal(signal.SIGINT)
    assert not trainer.run(tmp_path, SilentLog())
    state = load_checkpoint(tmp_path, recipe)
    assert state is not None
    assert state["step"] == 3
    assert signal.getsignal(signal.SIGINT) is before


def test_a_checkpoint_of_another_recipe_is_refused(banks: Banks, recipe: Recipe, tmp_path: Path):
    make_trainer(recipe, banks).save(tmp_path)
    with pytest.raises(FileFormatError, match="differs in batch, seed"):
        load_checkpoint(tmp_path, replace(recipe, batch=12, seed=1))
    assert [path.name for path in tmp_path.iterdir()] == ["checkpoint.pt"]


def test_the_log_is_one_object_per_line(banks: Banks, recipe: Recipe, tmp_path: Path):
    lines: list[str] = []
    trainer = make_trainer(replace(recipe, steps=4), banks, log_every=2)
    log = Log(tmp_path, lines.append)
    trainer.run(tmp_path, log)
    log.close()
    events = [json.loads(line) for line in (tmp_path / "log.jsonl").read_text().splitlines()]
    assert [event["event"] for event in events] == ["train", "validation", "train", "validation"]
    assert {"step", "seconds", "rate", "loss", "chamfer", "score", "gradient", "skipped"} <= set(events[0])
    assert {"median_deg", "recall_5", "recall_10", "chamfer_ratio"} <= set(events[1]["zero"])
    assert len(lines) == 4


def test_training_and_validation_share_no_shape(banks: Banks):
    held_out = {cloud.numpy().tobytes() for cloud in banks.validation.points}
    assert held_out
    assert not any(cloud.numpy().tobytes() in held_out for cloud in banks.training.points)
