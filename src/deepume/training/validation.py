"""Validation: how good a network is on held-out shapes, on the same pairs every time."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor, nn

from deepume.datasets.pairs.metrics import RIGHT_ANGLE_DEG, RIGHT_CHAMFER_RATIO, euler_errors_deg
from deepume.geometry.chamfer import chamfer_squared
from deepume.geometry.rotation import geodesic_angle
from deepume.training.losses.trainable import Trainable
from deepume.training.pairs.bank import ShapeBank
from deepume.training.pairs.pair_maker import PairMaker, Pairs
from deepume.training.recipes.recipe import Recipe
from deepume.transform import rigid_motion

SEED = 20211122
"""Seed of the validation pairs of every run."""
CHUNK = 64
"""Pairs estimated at a time."""


@dataclass(frozen=True, slots=True)
class Figures:
    """Measured on one scenario; angles are geodesic degrees."""

    mean_deg: float
    median_deg: float
    recall_5: float
    """Share of pairs within 5 degrees."""
    recall_10: float
    """Share of pairs within 10 degrees."""
    right: float
    """Share within 10 degrees, or with d_C at most 1.1 times the true pose's: symmetric shapes counted in."""
    chamfer_ratio: float
    """Median of d_C over d_C at the true pose."""
    rmse_r_dcp: float
    """Root of the mean square over all pairs and Euler angles, in degrees: the figure that DCP reports."""


class Measured(NamedTuple):
    """One entry for each pair."""

    angle_deg: Float[Tensor, "P"]
    chamfer_ratio: Float[Tensor, "P"]
    euler_errors_deg: Float[Tensor, "P 3"]


@torch.no_grad()
def validate(trainable: Trainable, network: nn.Module, bank: ShapeBank, recipe: Recipe) -> dict[str, Figures]:
    """Figures for each scenario of the plan, on pairs that depend only on the bank and the plan."""
    was_training = network.training
    network.eval()
    try:
        return {
            scenario.value: _figures(_measure(trainable, network, _maker(bank, recipe, k), recipe))
            for k, scenario in enumerate(recipe.validation.scenarios)
        }
    finally:
        network.train(was_training)


def _maker(bank: ShapeBank, recipe: Recipe, k: int) -> PairMaker:
    single = replace(recipe, scenarios=((recipe.validation.scenarios[k], 1.0),))
    generator = torch.Generator(bank.points.device).manual_seed(SEED + k)
    return PairMaker(bank, single, torch.Generator(), generator)


def _measure(trainable: Trainable, network: nn.Module, maker: PairMaker, recipe: Recipe) -> Measured:
    plan = recipe.validation
    counts = [min(CHUNK, plan.pairs - start) for start in range(0, plan.pairs, CHUNK)]
    parts = [_compare(trainable, network, maker.draw_sized(count, plan.points, plan.points)) for count in counts]
    return Measured(*(torch.cat(values) for values in zip(*parts, strict=True)))


def _compare(trainable: Trainable, network: nn.Module, pairs: Pairs) -> Measured:
    rotation, translation = (part.float() for part in trainable.estimate(network, pairs.source, pairs.target))
    estimate, truth = rigid_motion(rotation, translation), rigid_motion(pairs.rotation, pairs.translation)
    reached = chamfer_squared(estimate.apply(pairs.source), pairs.target)
    floor = chamfer_squared(truth.apply(pairs.source), pairs.target)
    return Measured(
        torch.rad2deg(geodesic_angle(rotation, pairs.rotation)),
        (reached + 1e-9) / (floor + 1e-9),
        euler_errors_deg(estimate, truth),
    )


def _figures(measured: Measured) -> Figures:
    angles, ratios, errors = measured
    right = (angles <= RIGHT_ANGLE_DEG) | (ratios <= RIGHT_CHAMFER_RATIO)
    values = [
        angles.mean(),
        angles.median(),
        (angles <= 5).float().mean(),
        (angles <= 10).float().mean(),
        right.float().mean(),
        ratios.median(),
        errors.square().mean().sqrt(),
    ]
    return Figures(*(round(value, 4) for value in torch.stack(values).tolist()))
