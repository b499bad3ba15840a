"""Recipes of the compared networks: the data and the length of the paper's recipe, their own losses and settings."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from deepume.datasets.pairs.laws import Law
from deepume.networks.compared.dcp import DcpConfig
from deepume.networks.compared.deepgmr import DeepGMRConfig
from deepume.networks.compared.pointnetlk import PointNetLKConfig
from deepume.networks.compared.rgm import RgmConfig
from deepume.training.recipes.recipe import Precision, Recipe


def compared_recipes(paper: Recipe) -> Iterator[Recipe]:
    """For each network two recipes: for any rotation, as the paper retrains it, and for angles of 0 to 60 degrees.

    Differs from the originals: a cosine instead of their steps, which suits runs of any length, and one optimizer.
    """
    small_steps = replace(paper, weight_decay=1e-4, clip=1.0, learning_rate=5e-4)
    # As many pairs in steps twice as large: networks without attention use them as well, in less time.
    base = replace(small_steps, batch=2 * paper.batch, steps=paper.steps // 2, learning_rate=1e-3)
    # RGM's answers need the Hungarian method on the host, a tenth of a second each: few pairs, and seldom.
    seldom = replace(base.validation, every=0.5, pairs=48)
    full = (
        # Its Jacobian is a difference of close numbers: half precision would leave nothing of it.
        replace(base, name="pointnetlk", method="pointnetlk", config=PointNetLKConfig(), precision=Precision.FLOAT32),
        replace(small_steps, name="dcp-v1", method="dcp", config=DcpConfig(attention=False), learning_rate=1e-3),
        replace(small_steps, name="dcp", method="dcp", config=DcpConfig()),
        replace(base, name="deepgmr", method="deepgmr", config=DeepGMRConfig()),
        # A narrow network can take larger steps: with them its 192 channels learn what 1,024 learn at 5e-4, the largest
        # rate that those can take.
        replace(small_steps, name="rgm", method="rgm", config=RgmConfig(), learning_rate=1.5e-3, validation=seldom),
    )
    for recipe in full:
        yield recipe
        yield replace(recipe, name=f"{recipe.name}-60", law=Law.EULER_60)
