"""Which of many poses are hypotheses of their own, and which of those fit best."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from deepume.alignment.score import Scores, chance_of, explains_as_well, score_poses
from deepume.geometry.neighbors import nearest
from deepume.geometry.rotation import geodesic_angle
from deepume.result import Registration
from deepume.transform import RigidTransform, Source, Target

DISTINCT_ANGLE = 15 * torch.pi / 180
"""Poses closer than this are refinements of one hypothesis, not rivals."""
MOST_HYPOTHESES = 8
"""Hypotheses that a result lists at most."""


@dataclass(frozen=True, slots=True)
class Ranking:
    """Poses of one pair with their scores, best first, no two of them refinements of one hypothesis."""

    poses: RigidTransform
    scores: Float[Tensor, "K"]

    @classmethod
    def of(cls, poses: RigidTransform, scores: Float[Tensor, "K"]) -> Ranking:
        """Sort poses by their scores, and drop all that repeat a better one."""
        kept = distinct_mask(poses.rotation, scores).nonzero().squeeze(-1)
        order = kept[scores[kept].argsort(stable=True)]
        return cls(take_poses(poses, order), scores[order])

    def __getitem__(self, some: slice | Bool[Tensor, "K"]) -> Ranking:
        """Some of them."""
        return Ranking(self.poses[some], self.scores[some])

    def near(self, lead: float) -> Bool[Tensor, "K"]:
        """Those that the best one leads by no more than this part of its score, the best one among them."""
        return self.scores <= self.scores[0] * (1 + lead)

    def join(self, other: Ranking) -> Ranking:
        """Both, ranked together."""
        poses = RigidTransform.concatenate([self.poses, other.poses])
        return Ranking.of(poses, torch.cat([self.scores, other.scores]))


def is_distinct(poses: RigidTransform, other: RigidTransform) -> Bool[Tensor, "*batch"]:
    """True where poses and the other are two hypotheses, not refinements of one."""
    return geodesic_angle(poses.rotation, other.rotation) > DISTINCT_ANGLE


def distinct_mask(
    rotations: Float[Tensor, "*batch K 3 3"], scores: Scores, angle: float = DISTINCT_ANGLE
) -> Bool[Tensor, "*batch K"]:
    """True for rotations that no better-scored distinct one lies within ``angle`` radians of.

    Greedy, best first; the best one is always kept. Loops over the rotations, not over the batch.
    """
    order = scores.argsort(dim=-1, stable=True)
    ordered = torch.take_along_dim(rotations, order[..., None, None], dim=-3)
    close = geodesic_angle(ordered.unsqueeze(-3), ordered.unsqueeze(-4)) < angle
    keep = torch.ones_like(order, dtype=torch.bool)
    for k in range(1, order.shape[-1]):
        keep[..., k] = ~(close[..., k, :k] & keep[..., :k]).any(-1)
    return torch.zeros_like(keep).scatter(-1, order, keep)


def best_distinct(poses: RigidTransform, scores: Scores, count: int, angle: float = DISTINCT_ANGLE) -> RigidTransform:
    """The ``count`` best of ``(*batch, K)`` poses, no two of which are refinements of one hypothesis if avoidable."""
    distinct = distinct_mask(poses.rotation, scores, angle)
    # Repeated hypotheses come last rather than out, so that every pair of a batch keeps the same number.
    order = (scores + torch.where(distinct, 0.0, 1e6)).argsort(dim=-1, stable=True)[..., :count]
    return take_poses(poses, order)


def take_poses(poses: RigidTransform, order: Tensor) -> RigidTransform:
    """Poses ``(*batch, K)`` at the given positions along the last batch axis."""
    scale = poses.scale if poses.scale.dim() == 0 else poses.scale.take_along_dim(order, -1)
    return RigidTransform(
        poses.rotation.take_along_dim(order[..., None, None], -3),
        poses.translation.take_along_dim(order[..., None], -2),
        scale,
    )


def rank_hypotheses(source: Source, target: Target, poses: RigidTransform) -> Registration:
    """Registration by the best-scored of ``(*batch, K)`` poses; its distinct rivals are listed, best first."""
    scores = score_poses(source, target, poses)
    scores = scores.masked_fill(~distinct_mask(poses.rotation, scores), torch.inf)
    scores, order = scores.sort(dim=-1, stable=True)
    equivalent = explains_as_well(scores, chance_of(source.shape[-2] + target.shape[-2]))
    listed = [k for k in range(min(MOST_HYPOTHESES, scores.shape[-1])) if scores[..., k].isfinite().any()]
    poses, ambiguous = take_poses(poses, order), equivalent[..., 1:].any(-1)
    residuals = nearest(poses[..., 0].apply(source), target).distances
    ranked = poses[..., listed], scores[..., listed], equivalent[..., listed]
    return Registration.of_ranked(*ranked, ambiguous=ambiguous, residuals=residuals)
