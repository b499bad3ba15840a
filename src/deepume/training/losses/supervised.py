"""Losses of the compared networks: unlike ours they compare the answer with the true motion, or with true pairs."""

from __future__ import annotations

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn.functional import mse_loss

from deepume.geometry.neighbors import full_precision, neighbor_indices
from deepume.networks.compared.dcp import Dcp
from deepume.networks.compared.deepgmr import DeepGMR
from deepume.networks.compared.pointnetlk import PointNetLK
from deepume.networks.compared.rgm import Rgm
from deepume.training.losses.trainable import Losses, Trainable, estimate_once
from deepume.training.pairs.pair_maker import Pairs
from deepume.training.recipes.recipe import Recipe
from deepume.transform import RigidTransform, rigid_motion

Matrices = Float[Tensor, "B 4 4"]

PAIR_RADIUS = 0.05
"""RGM learns from points that are nearest to each other, and closer than this, under the true motion."""
SURE = 1 - 1e-6
"""Soft assignments above this are taken as this: a logarithm follows."""


def dcp_objective(network: nn.Module, pairs: Pairs, recipe: Recipe, generator: torch.Generator) -> Losses:
    """Mean squared entry of ``R^T R_true - I``, and of ``t - t_true``."""
    pose = network(pairs.source, pairs.target).target_from_source
    with full_precision(pairs.source):
        turn = pose.rotation.mT @ pairs.rotation
        rotation = mse_loss(turn, torch.eye(3, device=turn.device).expand_as(turn))
        translation = mse_loss(pose.translation, pairs.translation)
    return _total({"rotation": rotation, "translation": translation})


def pointnetlk_objective(network: nn.Module, pairs: Pairs, recipe: Recipe, generator: torch.Generator) -> Losses:
    """Squared Frobenius norm of ``T T_true^-1 - I``, and the mean squared residual of the last step.

    Differs from the original: the mean over the channels, not their sum, which outweighs the pose a hundredfold.
    """
    alignment = network(pairs.source, pairs.target)
    with full_precision(pairs.source):
        deviation = _matrix(alignment.target_from_source) @ _matrix(_truth(pairs).inverse())
        pose = 16 * mse_loss(deviation, _unit_like(deviation))
        residual = alignment.residual.square().mean()
    return _total({"pose": pose, "residual": residual})


def deepgmr_objective(network: nn.Module, pairs: Pairs, recipe: Recipe, generator: torch.Generator) -> Losses:
    """Mean squared entry of ``T T_true^-1 - I``, both ways."""
    match = network(pairs.source, pairs.target)
    with full_precision(pairs.source):
        truth = _truth(pairs)
        forward = _matrix(match.target_from_source) @ _matrix(truth.inverse())
        backward = _matrix(match.source_from_target) @ _matrix(truth)
        parts = {"forward": forward, "backward": backward}
        return _total({name: mse_loss(product, _unit_like(product)) for name, product in parts.items()})


def rgm_objective(network: nn.Module, pairs: Pairs, recipe: Recipe, generator: torch.Generator) -> Losses:
    """Binary cross-entropy between the soft assignment and the true pairs, summed over all entries, per point."""
    assert isinstance(network, Rgm)
    log_assignment = network.log_assignment(pairs.source, pairs.target)
    with full_precision(pairs.source):
        partners, is_paired = true_pairs(pairs)
        log_rest = torch.log1p(-log_assignment.exp().clamp_max(SURE))
        chosen = torch.take_along_dim(log_assignment - log_rest, partners.unsqueeze(-1), dim=-1).squeeze(-1)
        points = log_assignment.shape[-2]
        loss = -(torch.where(is_paired, chosen, 0).sum(-1) + log_rest.sum((-2, -1))).mean() / points
    return Losses(loss, {"paired": is_paired.float().mean()})


@torch.no_grad()
def true_pairs(pairs: Pairs) -> tuple[Int[Tensor, "B N"], Bool[Tensor, "B N"]]:
    """Nearest target point of each source point under the true motion, and whether the two are a pair.

    Differs from the original: mutual pairs only; the original also pairs the remaining points with one another.
    """
    moved = pairs.source @ pairs.rotation.mT + pairs.translation.unsqueeze(-2)
    onto_target = neighbor_indices(moved, pairs.target, 1).squeeze(-1)
    onto_source = neighbor_indices(pairs.target, moved, 1).squeeze(-1)
    own = torch.arange(moved.shape[-2], device=moved.device)
    is_mutual = torch.take_along_dim(onto_source, onto_target, dim=-1) == own
    offsets = moved - torch.take_along_dim(pairs.target, onto_target.unsqueeze(-1), dim=-2)
    return onto_target, is_mutual & (torch.linalg.vector_norm(offsets, dim=-1) < PAIR_RADIUS)


def _truth(pairs: Pairs) -> RigidTransform:
    return rigid_motion(pairs.rotation, pairs.translation)


def _matrix(motion: RigidTransform) -> Matrices:
    """As ``motion.matrix``, with a gradient and without a scale."""
    top = torch.cat([motion.rotation, motion.translation.unsqueeze(-1)], -1)
    return torch.cat([top, _unit_like(motion.rotation.new_empty(len(top), 4, 4))[:, 3:]], -2)


def _unit_like(matrices: Matrices) -> Matrices:
    return torch.eye(4, dtype=matrices.dtype, device=matrices.device).expand_as(matrices)


def _total(parts: dict[str, Tensor]) -> Losses:
    total = torch.stack(list(parts.values())).sum()
    return Losses(total, {name: part.detach() for name, part in parts.items()})


SUPERVISED: dict[str, Trainable] = {
    "pointnetlk": Trainable(PointNetLK, pointnetlk_objective, estimate_once),
    "dcp": Trainable(Dcp, dcp_objective, estimate_once),
    "deepgmr": Trainable(DeepGMR, deepgmr_objective, estimate_once),
    "rgm": Trainable(Rgm, rgm_objective, estimate_once),
}
"""The compared networks that the loop can train, by name."""
