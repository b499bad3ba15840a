"""The recipes that have a name."""

from __future__ import annotations

from dataclasses import replace

from deepume.datasets.pairs.laws import Law
from deepume.datasets.pairs.scenarios import Scenario
from deepume.errors import require_known
from deepume.networks.deepume import DeepUMEConfig
from deepume.networks.paper import PaperConfig, PaperHead, Resampling
from deepume.training.recipes.compared_recipes import compared_recipes
from deepume.training.recipes.learning_rate import Schedule
from deepume.training.recipes.recipe import LossDistance, Optimizer, Precision, Recipe, ShapeSource, ValidationPlan

PAPER = Recipe(
    name="paper",
    method="deepume-paper",
    config=PaperConfig(),
    # The part of ModelNet40 at hand is small and mostly airplanes; benchmark shapes stand for the rest of it. Differs
    # from the paper: every shape is stretched, so that 2,800 look like many. After 2,150 steps, on one-sided scans of
    # procedural shapes: 2.7 degrees in the median with free shapes (robot links, bricks) among them, 2.2 without,
    # 1.7 stretched.
    shapes=(ShapeSource("modelnet40", 0.3), ShapeSource("research", 0.7)),
    stretch=0.7,
    # Differs from the paper: half of the pairs share no point, as in its hardest test.
    scenarios=((Scenario.PAPER_TRAINING, 0.5), (Scenario.ZERO, 0.5)),
    # The published figures were made on a full range of angles, whatever the released code draws.
    law=Law.EULER_FULL,
    points=((1024, 1.0),),
    # Differs from the paper: 64 pairs a step, not 32, and as many steps as make its 250 epochs of 9,840 shapes.
    batch=64,
    optimizer=Optimizer.ADAM,
    learning_rate=1e-3,
    # Differs from the released code: a cosine, no weight decay, and the logarithm of distances as the text has them,
    # not squared. On the same scans: 2.4 degrees as released but for the cosine, 2.2 without decay and with plain
    # distances, 1.8 with their logarithm.
    schedule=Schedule.COSINE,
    weight_decay=0.0,
    clip=10.0,
    loss_distance=LossDistance.LOG,
    steps=38_400,
)
"""The paper's network, as released; its training differs where it is said."""

DEFAULT = Recipe(
    name="default",
    method="deepume",
    config=DeepUMEConfig(),
    shapes=(ShapeSource("open", 0.85), ShapeSource("procedural", 0.15)),
    scenarios=(
        (Scenario.ZERO, 0.35),
        (Scenario.PAPER_TRAINING, 0.15),
        (Scenario.DENSITY, 0.2),
        # Half of it leaves noisy copies a sixth less accurate (0.27 against 0.22 degrees on one-sided scans).
        (Scenario.GAUSSIAN, 0.2),
        (Scenario.ZERO_NOISE, 0.1),
    ),
    points=((64, 1.0), (128, 1.5), (256, 2.0), (512, 2.0), (1024, 1.5)),
    unequal=0.3,
    batch=128,
    max_batch=512,
    learning_rate=8e-4,
    schedule=Schedule.COSINE,
    ema=0.998,
    clip=1.0,
    loss_distance=LossDistance.PLAIN,
    # The clouds of a density gradient would pull the loss to where they are dense; the shape's own points do not.
    # Two samplings of a shape fit nearly as well a little off the truth, the same points only there: 0.42 degrees
    # instead of 0.49 on held-out shapes, and 0.14 instead of 0.21 for clouds that share half of their points.
    loss_points=1024,
    loss_shared=1.0,
    passes=2,
    steps=20_000,
)
"""The network in the package, on shapes that are free to use."""

FINISH = replace(
    DEFAULT,
    name="finish",
    start="runs/default/default.safetensors",
    # Scans are not like whole shapes; shapes that look like more kinds of them help: 0.19 degrees instead of 0.21 on
    # one-sided scans of procedural shapes under noise, 0.18 instead of 0.21 without.
    stretch=0.4,
    # The more noise the network is shown, the less it errs under noise: half of the pairs.
    scenarios=(
        (Scenario.ZERO, 0.22),
        (Scenario.PAPER_TRAINING, 0.08),
        (Scenario.DENSITY, 0.1),
        (Scenario.GAUSSIAN, 0.5),
        (Scenario.ZERO_NOISE, 0.1),
    ),
    points=((64, 1.5), (128, 3.0), (256, 1.5), (512, 1.0), (1024, 3.0)),
    batch=64,
    max_batch=256,
    learning_rate=5e-4,
    ema=0.999,
    # Halves the error where points are shared. Small clouds, to which it gives less weight, are drawn more often.
    loss_distance=LossDistance.LOG,
    steps=14_000,
)
"""The second part of that training: goes on from ``default``, for noisy copies and the last tenth of a degree."""

TINY_SHAPES = (ShapeSource("procedural", size=64),)
TINY_VALIDATION = ValidationPlan(every=0.5, pairs=16, points=64, scenarios=(Scenario.ZERO,))

TINY = replace(
    DEFAULT,
    name="tiny",
    config=DeepUMEConfig(width=32, blocks=1, heads=2, features=32, neighbors=8, cross_neighbors=4, passes=2),
    shapes=TINY_SHAPES,
    points=((32, 1.0), (64, 1.0)),
    batch=16,
    max_batch=32,
    learning_rate=2e-3,
    ema=0.9,
    precision=Precision.FLOAT32,
    score_points=64,
    steps=60,
    validation=TINY_VALIDATION,
)
"""Seconds on a CPU: shows that everything runs."""

RECIPES: dict[str, Recipe] = {
    recipe.name: recipe
    for recipe in (
        PAPER,
        replace(PAPER, name="paper-no-preprocessing", config=PaperConfig(preprocessing=False)),
        replace(PAPER, name="paper-feature-resampling", config=PaperConfig(resampling=Resampling.FEATURES)),
        replace(PAPER, name="paper-mlp-head", config=PaperConfig(head=PaperHead.MLP)),
        DEFAULT,
        FINISH,
        replace(DEFAULT, name="small", config=DeepUMEConfig.small(), batch=64, max_batch=256, learning_rate=1e-3),
        TINY,
        replace(
            PAPER,
            name="tiny-paper",
            config=PaperConfig(feature_dim=32, neighbors=8),
            shapes=TINY_SHAPES,
            points=((64, 1.0),),
            batch=16,
            max_batch=16,
            precision=Precision.FLOAT32,
            steps=60,
            validation=TINY_VALIDATION,
        ),
        *compared_recipes(PAPER),
    )
}
"""All recipes by name."""


def get_recipe(name: str) -> Recipe:
    """The recipe of a name; an unknown one is an error that lists the known."""
    require_known("recipe", name, list(RECIPES))
    return RECIPES[name]
