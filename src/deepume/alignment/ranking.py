"""Which of many poses are hypotheses of their own, and which of those fit best."""

from __future__ import annotations

from dataclasses import dataclass
from math import radians

from jaxtyping import Bool, Float, Int

from deepume.alignment.score import Scores, chance_of, explains_as_well, score_poses
from deepume.arrays import Array, namespace, take_along
from deepume.geometry.neighbors import nearest
from deepume.geometry.rotation import geodesic_angle
from deepume.result import Registration
from deepume.transform import RigidTransform, Source, Target

DISTINCT_ANGLE = radians(15)
"""Poses closer than this are refinements of one hypothesis, not rivals."""
MOST_HYPOTHESES = 8
"""Hypotheses that a result lists at most."""


@dataclass(frozen=True, slots=True)
class Ranking:
    """Poses of one pair with their scores, best first, no two of them refinements of one hypothesis."""

    poses: RigidTransform
    scores: Float[Array, "K"]

    @classmethod
    def of(cls, poses: RigidTransform, scores: Float[Array, "K"]) -> Ranking:
        """Sort poses by their scores, and drop all that repeat a better one."""
        xp = namespace(scores)
        kept = xp.nonzero(distinct_mask(poses.rotation, scores))[0]
        order = kept[xp.argsort(scores[kept], stable=True)]
        return cls(poses[order], scores[order])

    def __getitem__(self, some: slice | Bool[Array, "K"]) -> Ranking:
        """Some of them."""
        return Ranking(self.poses[some], self.scores[some])

    def near(self, lead: float) -> Bool[Array, "K"]:
        """Those that the best one leads by no more than this part of its score, the best one among them."""
        return self.scores <= self.scores[0] * (1 + lead)

    def join(self, other: Ranking) -> Ranking:
        """Both, ranked together."""
        poses = RigidTransform.concatenate([self.poses, other.poses])
        return Ranking.of(poses, namespace(self.scores).concat([self.scores, other.scores]))


def is_distinct(poses: RigidTransform, other: RigidTransform) -> Bool[Array, "*batch"]:
    """True where poses and the other are two hypotheses, not refinements of one."""
    return geodesic_angle(poses.rotation, other.rotation) > DISTINCT_ANGLE


def distinct_mask(
    rotations: Float[Array, "*batch K 3 3"], scores: Scores, angle: float = DISTINCT_ANGLE
) -> Bool[Array, "*batch K"]:
    """True for rotations that no better-scored distinct one lies within ``angle`` radians of.

    Greedy, best first; the best one is always kept. Loops over the rotations, not over the batch.
    """
    xp = namespace(scores)
    order = xp.argsort(scores, axis=-1, stable=True)
    ordered = take_along(rotations, order[..., None, None], -3)
    close = geodesic_angle(ordered[..., None, :, :], ordered[..., None, :, :, :]) < angle
    keep = xp.ones_like(order, dtype=xp.bool)
    for k in range(1, order.shape[-1]):
        keep[..., k] = ~(close[..., k, :k] & keep[..., :k]).any(-1)
    return take_along(keep, xp.argsort(order, axis=-1), -1)


def best_distinct(poses: RigidTransform, scores: Scores, count: int, angle: float = DISTINCT_ANGLE) -> RigidTransform:
    """The ``count`` best of ``(*batch, K)`` poses, no two of which are refinements of one hypothesis if avoidable."""
    distinct = distinct_mask(poses.rotation, scores, angle)
    # Repeated hypotheses come last rather than out, so that every pair of a batch keeps the same number.
    xp = namespace(scores)
    order = xp.argsort(scores + xp.where(distinct, 0.0, 1e6), axis=-1, stable=True)[..., :count]
    return take_poses(poses, order)


def take_poses(poses: RigidTransform, order: Int[Array, "*batch K"]) -> RigidTransform:
    """Poses ``(*batch, K)`` at the given positions along the last batch axis."""
    return RigidTransform(
        take_along(poses.rotation, order[..., None, None], -3),
        take_along(poses.translation, order[..., None], -2),
        take_along(poses.scale, order, -1) if poses.scale.ndim else poses.scale,
    )


def rank_hypotheses(source: Source, target: Target, poses: RigidTransform) -> Registration:
    """Registration by the best-scored of ``(*batch, K)`` poses; its distinct rivals are listed, best first."""
    scores = score_poses(source, target, poses)
    xp = namespace(scores)
    scores = xp.where(distinct_mask(poses.rotation, scores), scores, xp.inf)
    order = xp.argsort(scores, axis=-1, stable=True)
    scores = take_along(scores, order, -1)
    equivalent = explains_as_well(scores, chance_of(source.shape[-2] + target.shape[-2]))
    listed = [k for k in range(min(MOST_HYPOTHESES, scores.shape[-1])) if bool(xp.isfinite(scores[..., k]).any())]
    poses, ambiguous = take_poses(poses, order), equivalent[..., 1:].any(-1)
    residuals = nearest(poses[..., 0].apply(source), target).distances
    ranked = poses[..., listed], scores[..., listed], equivalent[..., listed]
    return Registration.of_ranked(*ranked, ambiguous=ambiguous, residuals=residuals)
