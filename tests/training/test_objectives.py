from dataclasses import replace

import pytest
import torch

from deepume.training.losses import objectives
from deepume.training.losses.objectives import TRAINABLES, dense_score
from deepume.training.pairs.bank import Banks
from deepume.training.pairs.pair_maker import PairMaker, Pairs
from deepume.training.pairs.starts import Starts, draw_starts
from deepume.training.recipes.our_recipes import RECIPES
from deepume.training.recipes.recipe import Recipe, override
from deepume.transform import random_rotation, rigid_motion


@pytest.fixture(scope="module")
def pairs(banks: Banks, recipe: Recipe) -> Pairs:
    return PairMaker(banks.training, recipe, torch.Generator(), torch.Generator().manual_seed(3)).draw_sized(8, 48, 40)


def scrambled(pairs: Pairs) -> Pairs:
    """The same clouds with another truth."""
    rotation = random_rotation(len(pairs), generator=torch.Generator().manual_seed(9), dtype=torch.float32)
    return replace(
        pairs, rotation=rotation, translation=pairs.translation + 1, equivalents=pairs.equivalents.roll(1, 0)
    )


def loss_of(name: str, pairs: Pairs) -> torch.Tensor:
    torch.manual_seed(0)
    recipe = RECIPES[name]
    trainable = TRAINABLES[recipe.method]
    return trainable.objective(trainable.build(recipe.config), pairs, recipe, torch.Generator().manual_seed(4)).total


@pytest.mark.parametrize("name", ["tiny", "tiny-paper"])
def test_no_label_enters_a_loss(pairs: Pairs, monkeypatch: pytest.MonkeyPatch, name: str):
    starts = draw_starts(pairs, generator=torch.Generator().manual_seed(1))
    monkeypatch.setattr(objectives, "draw_starts", lambda pairs, generator: starts)
    assert torch.equal(loss_of(name, pairs), loss_of(name, scrambled(pairs)))


def test_starts_out_of_reach_are_left_out_of_the_loss(pairs: Pairs, monkeypatch: pytest.MonkeyPatch):
    rotation = pairs.rotation
    far, near = (torch.full((len(pairs),), value) for value in (False, True))
    for is_near in (far, near):
        starts = Starts(rotation, is_near)
        monkeypatch.setattr(objectives, "draw_starts", lambda pairs, generator, starts=starts: starts)
        torch.manual_seed(0)
        recipe = RECIPES["tiny"]
        network = TRAINABLES[recipe.method].build(recipe.config)
        losses = TRAINABLES[recipe.method].objective(network, pairs, recipe, torch.Generator().manual_seed(4))
        assert torch.isfinite(losses.total)
        assert (losses.parts["chamfer"] > 0) == is_near.any()


def test_the_score_is_least_at_the_truth(pairs: Pairs):
    truth = rigid_motion(pairs.rotation, pairs.translation)
    center = pairs.source.mean(-2, keepdim=True)
    turned = random_rotation(len(pairs), generator=torch.Generator().manual_seed(2), dtype=torch.float32)
    image = (center @ pairs.rotation.mT).squeeze(-2) + pairs.translation
    other = rigid_motion(turned, image - (center @ turned.mT).squeeze(-2))
    assert (dense_score(truth, pairs) < dense_score(other, pairs) + 0.1).all()
    assert dense_score(truth, pairs).mean() < dense_score(other, pairs).mean() - 0.2


def test_the_loss_compares_the_clouds_it_is_given(pairs: Pairs):
    recipe = RECIPES["tiny-paper"]
    trainable = TRAINABLES[recipe.method]
    torch.manual_seed(0)
    network = trainable.build(recipe.config)
    hidden = replace(pairs, loss_source=torch.zeros_like(pairs.loss_source))
    losses = [trainable.objective(network, batch, recipe, torch.Generator()).total for batch in (pairs, hidden)]
    assert losses[0] != losses[1]
    losses[0].backward()
    assert all(torch.isfinite(weight.grad).all() for weight in network.parameters() if weight.grad is not None)


def test_in_the_logarithm_no_pair_pulls_harder_for_being_larger(pairs: Pairs):
    def pull(distance: str, scale: float) -> torch.Tensor:
        recipe = override(RECIPES["tiny-paper"], {"loss_distance": distance})
        grown = replace(pairs, loss_source=scale * pairs.loss_source, loss_target=scale * pairs.loss_target)
        angle = torch.tensor(0.1, requires_grad=True)
        turn = torch.stack([angle.cos(), -angle.sin(), angle.sin(), angle.cos()]).view(2, 2)
        rotation = torch.block_diag(turn, torch.ones(1, 1)).expand(len(pairs), 3, 3)
        fit = objectives._fit(rigid_motion(rotation, torch.zeros(len(pairs), 3)), grown, recipe)
        return torch.autograd.grad(fit.sum(), angle)[0]

    assert torch.allclose(pull("log", 3.0), pull("log", 1.0), rtol=1e-4)
    assert torch.allclose(pull("plain", 3.0), 3 * pull("plain", 1.0), rtol=1e-4)
