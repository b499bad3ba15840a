"""Rivals of an answer, and the symmetry of the object: axes and orders, and which rivals they explain."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float

from deepume.alignment.score import EXACT_SCORE, explains_as_well
from deepume.arrays import Array
from deepume.geometry.frames import revolution_axes
from deepume.geometry.rotation import geodesic_angle
from deepume.result import Symmetry
from deepume.search.pair import CloudPair
from deepume.search.policy import Turns
from deepume.search.sampling.relation import NO_RIVAL, CloudFit, Comparison, Finish, shows_no_surface
from deepume.transform import RigidTransform, rotation_angle, rotation_from_vector


class Whole:
    """What samplings of whole objects have in common."""

    def hides_surface(self, pair: CloudPair, fit: CloudFit) -> bool:
        """True where normals of dense clouds are of no use."""
        return shows_no_surface(pair, fit)

    def compare(
        self, pair: CloudPair, finish: Finish, poses: RigidTransform, scores: Float[np.ndarray, "K"]
    ) -> Comparison:
        """Compare poses by their scores and the symmetry of the object."""
        as_well = explains_as_well(scores, pair.margin(pair.policy.doubt.fits))
        symmetry = find_symmetry(pair.for_search, poses, scores)
        same = explains(symmetry, poses.rotation @ poses.rotation[0].mT, pair.policy.turns)
        others = scores[~same]
        lead = float(others.min() / max(scores[0], 1e-6)) - 1 if len(others) else NO_RIVAL
        # Rivals are refined less far than the answer: where symmetry explains them, a little more may be missing.
        nearly = scores <= scores[0] * (1 + pair.margin(pair.policy.doubt.close)) + EXACT_SCORE
        return Comparison(as_well | (same & nearly), symmetry, bool((as_well & ~same).any()), lead)


def find_symmetry(pair: CloudPair, poses: RigidTransform, scores: Float[np.ndarray, "K"]) -> Symmetry:
    """Axes through the target's centroid about which the object can be turned unnoticed, most symmetric first.

    Candidates are the axes of the turns between the best pose and its equals and, if turns are tried, principal axes
    whose companions have nearly equal variances. What the points cannot tell from a symmetry is called one.
    """
    equals = explains_as_well(scores, pair.margin(pair.policy.doubt.turned))
    turns = poses.rotation[equals] @ poses.rotation[0].mT
    axes = _turn_axes(turns, pair.policy.turns)
    if pair.policy.tries_turns:
        axes = np.concat([axes, _likely_axes(pair)])
    axes = _orient(_distinct_axes(axes, pair.policy.turns), pair.target.points)
    trial = _Trial(pair, poses[0], turns)
    orders = [trial.order_about(axis) for axis in axes]
    kept = sorted((k for k, order in enumerate(orders) if order != 1), key=lambda k: (orders[k] != 0, -orders[k]))
    kept = _without_sweeps(axes, orders, kept, pair.policy.turns)
    return Symmetry(axes[kept].reshape(-1, 3), tuple(orders[k] for k in kept))


def explains(symmetry: Symmetry, turns: Float[np.ndarray, "*batch 3 3"], policy: Turns) -> Bool[Array, "*batch"]:
    """True where a rotation of the object is, nearly, one that its symmetry axes allow, or two of them in turn."""
    if symmetry.orders.count(0) > 1:
        return np.ones(turns.shape[:-2], bool)
    each = zip(symmetry.axes, symmetry.orders, strict=True)
    allowed = [_allowed_turns(axis, order or policy.steps) for axis, order in each]
    allowed = np.concat([np.eye(3)[None], *allowed])
    twice = (allowed[None] @ allowed[:, None]).reshape(-1, 3, 3)
    near = np.rad2deg(geodesic_angle(turns[..., None, :, :], twice)).min(-1) < policy.same_axis_deg
    if 0 in symmetry.orders and len(symmetry.orders) > 1:
        axis = symmetry.axes[symmetry.orders.index(0)]
        near = near | ((turns @ axis) @ axis < policy.upside_down)  # and then any angle will do
    return near


def _allowed_turns(axis: Float[np.ndarray, "3"], order: int) -> Float[np.ndarray, "K 3 3"]:
    angles = np.arange(1, order) * (2 * np.pi / order)
    return rotation_from_vector(angles[:, None] * axis)


def _turn_axes(turns: Float[np.ndarray, "K 3 3"], policy: Turns) -> Float[np.ndarray, "A 3"]:
    """Axes of rotations: the direction that each leaves as it is (of the symmetric part: good at 180 degrees, too)."""
    turns = turns[np.rad2deg(rotation_angle(turns)) > policy.same_axis_deg]
    return np.linalg.eigh((turns + turns.mT) / 2).eigenvectors[..., -1]


def _likely_axes(pair: CloudPair) -> Float[np.ndarray, "A 3"]:
    """Principal axes of the target about which the variances are alike."""
    chosen = revolution_axes(pair.source.frame, pair.target.frame, alike=pair.policy.alike)
    return pair.target.frame.axes.mT[chosen].reshape(-1, 3)


def _distinct_axes(axes: Float[np.ndarray, "K 3"], policy: Turns) -> Float[np.ndarray, "A 3"]:
    kept: list[np.ndarray] = []
    limit = math.cos(math.radians(policy.same_axis_deg))
    for axis in axes:
        if len(kept) < policy.most_axes and all(abs(axis @ other) < limit for other in kept):
            kept.append(axis)
    return np.stack(kept) if kept else axes[:0]


def _orient(axes: Float[np.ndarray, "A 3"], points: Float[np.ndarray, "N 3"]) -> Float[np.ndarray, "A 3"]:
    """Axes that point to the longer tail of the cloud: their sign turns with it, and no rounding decides it."""
    tails = ((points @ axes.T) ** 3).mean(0)
    return np.where(tails[:, None] < 0, -axes, axes)


@dataclass(frozen=True)
class _Trial:
    """Tries turns of an object at its best pose."""

    pair: CloudPair
    pose: RigidTransform
    known: Float[np.ndarray, "K 3 3"]
    """Turns between poses that fit as well; they need no trial."""

    def order_about(self, axis: Float[np.ndarray, "3"]) -> int:
        """Order of the symmetry about an axis: 0 continuous, 1 none."""
        policy = self.pair.policy.turns
        odd = self._fit_about(axis, policy.odd_angles_deg)
        if sum(odd) >= len(odd) - 1:  # one may fail by chance
            return 0
        parts = sorted({m / order for order in policy.orders for m in range(1, order // 2 + 1)})
        fits = dict(zip(parts, self._fit_about(axis, [360 * part for part in parts]), strict=True))
        return next((order for order in policy.orders if all(fits[m / order] for m in range(1, order // 2 + 1))), 1)

    def _fit_about(self, axis: Float[np.ndarray, "3"], angles_deg: Sequence[float]) -> list[bool]:
        """Which turns about an axis are known to fit or, if turns are tried, do."""
        policy = self.pair.policy
        turns = rotation_from_vector(np.deg2rad(angles_deg)[:, None] * axis)
        both_ways = np.concat([self.known, self.known.mT])
        fits = np.rad2deg(geodesic_angle(turns[:, None], both_ways)).min(-1) < policy.turns.stays_deg
        if policy.tries_turns:
            fits[~fits] = self._fit(turns[~fits])
        return fits.tolist()

    def _fit(self, turns: Float[np.ndarray, "K 3 3"]) -> Bool[np.ndarray, "K"]:
        """Which turned poses fit as well as the pose does, and stay where they are when refined.

        Few points tell which are not worth refining.
        """
        pair, policy = self.pair, self.pair.policy.turns
        starts = RigidTransform(turns, np.zeros((len(turns), 3))) @ self.pose[None]
        best = pair.score(self.pose[None])
        fits = pair.score(starts, queries=pair.quick) <= policy.roughly * best + EXACT_SCORE
        if not fits.any():
            return fits
        starts = starts[fits]
        refined = pair.gicp(starts, policy.gicp) if pair.dense else pair.refine(starts)
        stayed = np.rad2deg(geodesic_angle(refined.rotation, starts.rotation)) < policy.stays_deg
        as_well = pair.score(refined) <= best * (1 + pair.margin(pair.policy.doubt.turned)) + EXACT_SCORE
        fits[fits] = stayed & as_well
        return fits


def _without_sweeps(axes: Float[np.ndarray, "A 3"], orders: list[int], kept: list[int], policy: Turns) -> list[int]:
    """Of the many half-turn axes across an axis of revolution, one is named."""
    continuous = [k for k in kept if orders[k] == 0]
    if len(continuous) == 0:
        return kept
    if len(continuous) > 1:
        return continuous[:2]
    across = [k for k in kept if orders[k] and abs(axes[k] @ axes[continuous[0]]) < policy.across]
    return continuous + across[:1]
