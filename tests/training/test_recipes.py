import json
from dataclasses import replace

import pytest

from deepume.datasets.pairs.laws import Law
from deepume.datasets.pairs.scenarios import Scenario
from deepume.errors import UnknownNameError
from deepume.training.losses.objectives import TRAINABLES
from deepume.training.recipes.our_recipes import RECIPES, TINY, get_recipe
from deepume.training.recipes.recipe import LossDistance, Recipe, RecipeError, ShapeSource, override


@pytest.mark.parametrize("recipe", RECIPES.values(), ids=list(RECIPES))
def test_every_recipe_can_be_built_and_written_down(recipe: Recipe):
    assert TRAINABLES[recipe.method].build(recipe.config).training
    assert json.loads(json.dumps(recipe.as_dict()))["name"] == recipe.name


@pytest.mark.parametrize("name", ["default", "finish", "small"])
def test_weights_of_the_package_are_small_and_see_free_shapes_only(name: str):
    recipe = RECIPES[name]
    network = TRAINABLES[recipe.method].build(recipe.config)
    assert sum(parameter.numel() for parameter in network.parameters()) * 2 < 3_000_000, "over 3 MB in half precision"
    assert {source.set for source in recipe.shapes} <= {"open", "procedural"}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"batch": 0}, "batch"),
        ({"ema": 1.0}, "ema"),
        ({"stretch": 1.0}, "stretch"),
        ({"scenarios": ()}, "scenarios is empty"),
        ({"scenarios": ((Scenario.OCCLUSION, 1.0),)}, "occlusion"),
        ({"points": ((4096, 1.0),)}, "16..1024"),
        ({"config": {"width": 3}}, "dataclass"),
        ({"steps": 0}, "steps"),
    ],
)
def test_refuses_what_cannot_be_trained(changes, message: str):
    with pytest.raises(RecipeError, match=message):
        replace(TINY, **changes)


@pytest.mark.parametrize("name", ["pointnetlk", "dcp-v1", "dcp", "deepgmr", "rgm"])
def test_compared_networks_see_what_the_papers_network_sees(name: str):
    paper, full, small = RECIPES["paper"], RECIPES[name], RECIPES[f"{name}-60"]
    for recipe in (full, small):
        assert (recipe.shapes, recipe.stretch, recipe.scenarios) == (paper.shapes, paper.stretch, paper.scenarios)
        assert recipe.steps * recipe.batch == paper.steps * paper.batch
    assert (full.law, small.law) == (paper.law, Law.EULER_60)


def test_refuses_test_sets():
    with pytest.raises(UnknownNameError, match="stanford"):
        ShapeSource("stanford")


def test_overrides_reach_inside_and_keep_the_types():
    changes = {"batch": 8, "config.passes": 3, "loss_distance": "squared", "clip": 2, "validation.pairs": 5}
    recipe = override(TINY, changes)
    assert (recipe.batch, recipe.config.passes, recipe.validation.pairs) == (8, 3, 5)
    assert recipe.loss_distance is LossDistance.SQUARED
    assert isinstance(recipe.clip, float)


def test_overrides_that_depend_on_one_another_change_together():
    changes = {"batch": 400, "max_batch": 500, "shapes": (("open", 0.5), ("procedural", 0.5, 64))}
    recipe = override(TINY, changes | {"scenarios": (("zero", 1), ("density", 2))})
    assert recipe.shapes[1] == ShapeSource("procedural", 0.5, 64)
    assert recipe.scenarios == ((Scenario.ZERO, 1.0), (Scenario.DENSITY, 2.0))


def test_unknown_names_list_the_known():
    with pytest.raises(UnknownNameError, match="learning_rate"):
        override(TINY, {"learning-rate": 1.0})
    with pytest.raises(UnknownNameError, match="default"):
        get_recipe("defualt")
