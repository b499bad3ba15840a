"""The compared networks learn: their losses vanish at the truth, reach every weight, and fall."""

import math
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import nn

from deepume.datasets.pairs.laws import Law
from deepume.datasets.pairs.scenarios import Scenario
from deepume.methods.table import NETWORKS
from deepume.networks.compared.rgm import Rgm
from deepume.training.losses.objectives import TRAINABLES
from deepume.training.losses.supervised import (
    dcp_objective,
    deepgmr_objective,
    pointnetlk_objective,
    rgm_objective,
    true_pairs,
)
from deepume.training.losses.trainable import Objective
from deepume.training.pairs.bank import Banks
from deepume.training.pairs.pair_maker import PairMaker, Pairs
from deepume.training.recipes.our_recipes import PAPER, RECIPES
from deepume.training.recipes.recipe import Precision, Recipe
from deepume.transform import RigidTransform, random_rotation, rigid_motion
from network_files import SMALL

NAMES = [entry.name for entry in NETWORKS]


def draw_pairs(banks: Banks, recipe: Recipe, scenario: Scenario, count: int = 12, size: int = 48) -> Pairs:
    single = replace(recipe, scenarios=((scenario, 1.0),), law=Law.EULER_60)
    return PairMaker(banks.training, single, torch.Generator(), torch.Generator().manual_seed(3)).draw_sized(
        count, size, size
    )


class Oracle(nn.Module):
    """Knows a motion, and says it in the words of every network."""

    def __init__(self, pose: RigidTransform):
        super().__init__()
        self.pose = pose

    def forward(self, source: torch.Tensor, target: torch.Tensor) -> Any:
        residual = torch.zeros(len(source), 4)
        return SimpleNamespace(target_from_source=self.pose, source_from_target=self.pose.inverse(), residual=residual)


@pytest.mark.parametrize("objective", [dcp_objective, pointnetlk_objective, deepgmr_objective])
def test_a_loss_is_zero_at_the_truth_and_grows_with_the_error(
    objective: Objective, banks: Banks, recipe: Recipe
) -> None:
    pairs = draw_pairs(banks, recipe, Scenario.ZERO)
    truth = rigid_motion(pairs.rotation, pairs.translation)
    turned = random_rotation(len(pairs), generator=torch.Generator().manual_seed(1), dtype=torch.float32)
    wrong = (truth, rigid_motion(pairs.rotation, pairs.translation + 0.1), rigid_motion(turned, pairs.translation))
    exact, shifted, rotated = (float(objective(Oracle(pose), pairs, recipe, torch.Generator()).total) for pose in wrong)
    assert exact < 1e-10
    assert exact < shifted < rotated


def test_rgm_learns_from_the_points_that_coincide(banks: Banks, recipe: Recipe) -> None:
    shared = draw_pairs(banks, recipe, Scenario.NOISE_FREE)
    partners, is_paired = true_pairs(shared)
    moved = shared.source @ shared.rotation.mT + shared.translation.unsqueeze(-2)
    found = torch.take_along_dim(shared.target, partners.unsqueeze(-1), dim=-2)
    assert bool(is_paired.all())
    assert float((moved - found).abs().max()) < 1e-5
    assert float(true_pairs(draw_pairs(banks, recipe, Scenario.PAPER_TRAINING))[1].float().mean()) > 0.4
    assert float(true_pairs(draw_pairs(banks, recipe, Scenario.ZERO))[1].float().mean()) < 0.5


def test_no_two_points_have_the_same_true_partner(banks: Banks, recipe: Recipe) -> None:
    pairs = draw_pairs(banks, recipe, Scenario.ZERO)
    tiny = replace(pairs, source=0.05 * pairs.source, target=0.05 * pairs.target, translation=0.05 * pairs.translation)
    partners, is_paired = true_pairs(tiny)
    for columns, chosen in zip(partners, is_paired, strict=True):
        assert len(columns[chosen].unique()) == int(chosen.sum()) > 5


def test_rgms_loss_is_least_for_the_true_assignment(
    banks: Banks, recipe: Recipe, monkeypatch: pytest.MonkeyPatch
) -> None:
    pairs = draw_pairs(banks, recipe, Scenario.NOISE_FREE)
    partners, _ = true_pairs(pairs)
    network = Rgm(SMALL["rgm"][1])
    losses = []
    for columns in (partners, partners.roll(1, -1)):
        soft = 0.98 * torch.nn.functional.one_hot(columns, partners.shape[-1]) + 0.02 / partners.shape[-1]
        monkeypatch.setattr(network, "log_assignment", lambda source, target, soft=soft: soft.log())
        losses.append(float(rgm_objective(network, pairs, recipe, torch.Generator()).total))
    assert losses[0] < 0.1
    assert losses[1] > 5


def test_rgms_loss_punishes_a_second_partner(banks: Banks, recipe: Recipe, monkeypatch: pytest.MonkeyPatch) -> None:
    pairs = draw_pairs(banks, recipe, Scenario.NOISE_FREE)
    partners, _ = true_pairs(pairs)
    network, losses = Rgm(SMALL["rgm"][1]), []
    true, other = (torch.nn.functional.one_hot(each, partners.shape[-1]) for each in (partners, partners.roll(1, -1)))
    for extra in (0.0, 0.3):
        soft = 0.6 * true + extra * other + 1e-9
        monkeypatch.setattr(network, "log_assignment", lambda source, target, soft=soft: soft.log())
        losses.append(float(rgm_objective(network, pairs, recipe, torch.Generator()).total))
    assert losses[0] == pytest.approx(-math.log(0.6), abs=1e-3)
    assert losses[1] - losses[0] == pytest.approx(-math.log(0.7), abs=1e-3)


def small_recipe(name: str) -> Recipe:
    config = SMALL[name.removesuffix("-60")][1]
    return replace(RECIPES[name], config=config, precision=Precision.FLOAT32)


@pytest.mark.parametrize("name", NAMES)
def test_a_loss_is_finite_and_reaches_every_weight(name: str, banks: Banks) -> None:
    recipe = small_recipe(name)
    trainable, pairs = TRAINABLES[recipe.method], draw_pairs(banks, recipe, Scenario.PAPER_TRAINING, 4)
    torch.manual_seed(0)
    network = trainable.build(recipe.config)
    losses = trainable.objective(network, pairs, recipe, torch.Generator())
    losses.total.backward()
    assert bool(torch.isfinite(losses.total))
    still = [key for key, weight in network.named_parameters() if weight.grad is None or not weight.grad.any()]
    assert still == []
    assert all(bool(torch.isfinite(weight.grad).all()) for weight in network.parameters() if weight.grad is not None)


@pytest.mark.parametrize("name", list(SMALL))
def test_a_loss_falls(name: str, banks: Banks) -> None:
    recipe = small_recipe(f"{name}-60")
    trainable, pairs = TRAINABLES[recipe.method], draw_pairs(banks, recipe, Scenario.PAPER_TRAINING)
    torch.manual_seed(0)
    network = trainable.build(recipe.config).train()
    optimizer = torch.optim.Adam(network.parameters(), lr=3e-3)
    values = []
    for _ in range(40):
        loss = trainable.objective(network, pairs, recipe, torch.Generator()).total
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(network.parameters(), recipe.clip)
        optimizer.step()
        values.append(float(loss))
    assert sum(values[-5:]) < 0.8 * sum(values[5:10]), values


def test_every_network_has_a_recipe_of_its_name_on_the_papers_data_and_more() -> None:
    for entry in NETWORKS:
        recipe = RECIPES[entry.name]
        assert {source.set for source in recipe.shapes} >= {source.set for source in PAPER.shapes}
        assert (recipe.scenarios, recipe.points) == (PAPER.scenarios, PAPER.points)
        assert recipe.law is (Law.EULER_60 if entry.name.endswith("-60") else PAPER.law)
        assert recipe.batch * recipe.steps == PAPER.batch * PAPER.steps


def test_one_set_of_weights_fits_into_twenty_megabytes() -> None:
    chosen = ("pointnetlk-60", "dcp-v1-60", "dcp-60", "deepgmr", "rgm-60")
    networks = [TRAINABLES[RECIPES[name].method].build(RECIPES[name].config) for name in chosen]
    assert sum(value.numel() for network in networks for value in network.state_dict().values()) * 2 < 19 * 2**20
