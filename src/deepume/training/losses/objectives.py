"""The loss of each method. Ours: Chamfer distances only, the paper's promise of training without labels."""

from __future__ import annotations

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn
from torch.nn.functional import smooth_l1_loss

from deepume.geometry.chamfer import chamfer, chamfer_squared, rank_by_chamfer
from deepume.geometry.clouds import rms_radius
from deepume.geometry.neighbors import full_precision
from deepume.networks.deepume import DeepUME
from deepume.networks.paper import PaperDeepUME
from deepume.training.losses.supervised import SUPERVISED
from deepume.training.losses.trainable import Losses, Motion, Trainable, estimate_once
from deepume.training.pairs.pair_maker import Pairs
from deepume.training.pairs.starts import draw_sign_changes, draw_starts
from deepume.training.recipes.recipe import LossDistance, Recipe
from deepume.transform import RigidTransform, Source, Target, motion_between

SMALLEST_DISTANCE = 1e-4
"""Chamfer distances below this are no better: their logarithm would have no bound."""


def paper_objective(network: nn.Module, pairs: Pairs, recipe: Recipe, generator: torch.Generator) -> Losses:
    """d_C of the moved source to the target (paper, section 3): no label enters."""
    estimate = network(pairs.source, pairs.target)
    loss = _fit(estimate.target_from_source, pairs, recipe).mean()
    return Losses(loss, {})


def default_objective(network: nn.Module, pairs: Pairs, recipe: Recipe, generator: torch.Generator) -> Losses:
    """d_C after every pass, for starts from which a correct alignment is in reach, and the score of every start.

    The truth is used once: to draw the starts and to tell which are in reach. Both terms of the loss are measured
    between clouds: d_C of the moved source, and d_C of dense clouds at the pose whose score is predicted.
    """
    starts = draw_starts(pairs, generator=generator)
    with full_precision(pairs.source):
        initial = motion_between(pairs.source.mean(-2), pairs.target.mean(-2), starts.rotation)
    exchange = draw_sign_changes(len(pairs), generator=generator)
    estimate = network(pairs.source, pairs.target, initial, passes=recipe.passes or None, exchange=exchange)
    fits = torch.stack([_fit(pose, pairs, recipe) for pose in estimate.passes])
    fit = _masked_mean(fits, starts.is_near)
    begun = (initial, *estimate.passes[:-1])
    truths = torch.stack([dense_score(pose, pairs) for pose in begun])
    score = smooth_l1_loss(torch.stack(estimate.scores).float(), truths, beta=0.5)
    parts = {"chamfer": fit, "score": score, "near": starts.is_near.float().mean()}
    return Losses(fit + recipe.score_weight * score, {name: part.detach() for name, part in parts.items()})


def _fit(pose: RigidTransform, pairs: Pairs, recipe: Recipe) -> Float[Tensor, " B"]:
    """d_C of each pair at a pose, or its logarithm."""
    moved = _moved(pairs.loss_source, pose)
    if recipe.loss_distance is LossDistance.SQUARED:
        return chamfer_squared(moved, pairs.loss_target)
    distance = chamfer(moved, pairs.loss_target)
    return distance if recipe.loss_distance is LossDistance.PLAIN else distance.clamp_min(SMALLEST_DISTANCE).log()


@torch.no_grad()
def dense_score(pose: RigidTransform, pairs: Pairs) -> Float[Tensor, " B"]:
    """What a score head learns to predict: log d_C (un-squared, two-sided) of dense clouds, in source radii."""
    distance = chamfer(_moved(pairs.dense_source, pose), pairs.dense_target)
    return (distance / rms_radius(pairs.source)).clamp_min(SMALLEST_DISTANCE).log()


def _moved(points: Float[Tensor, "B K 3"], pose: RigidTransform) -> Float[Tensor, "B K 3"]:
    """As ``pose.apply``, but without the scale, which is 1 and lives on the host: fetching it would make it wait."""
    with full_precision(points):
        return points @ pose.rotation.float().mT + pose.translation.float().unsqueeze(-2)


def _masked_mean(values: Float[Tensor, "P B"], mask: Bool[Tensor, " B"]) -> Float[Tensor, ""]:
    return torch.where(mask, values, 0).sum() / (len(values) * mask.sum()).clamp_min(1)


def estimate_from_frames(network: nn.Module, source: Source, target: Target) -> Motion:
    """The network's answers from the four proper frames, the one of least d_C: chosen after the network."""
    assert isinstance(network, DeepUME)
    poses = network.hypotheses(source, target).target_from_source
    moved = source.unsqueeze(-3) @ poses.rotation.float().mT + poses.translation.float().unsqueeze(-2)
    best = rank_by_chamfer(moved, target.unsqueeze(-3)).argmin(-1)
    rows = torch.arange(len(source), device=source.device)
    return Motion(poses.rotation[rows, best], poses.translation[rows, best])


TRAINABLES: dict[str, Trainable] = {
    "deepume-paper": Trainable(PaperDeepUME, paper_objective, estimate_once),
    "deepume": Trainable(DeepUME, default_objective, estimate_from_frames, uses_symmetry=True),
    **SUPERVISED,
}
"""Methods that the loop can train, by name."""
