"""Clouds of which one is a noisy copy of the other: how they are recognized, and matched."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

from deepume.alignment.coupling import couple_points
from deepume.alignment.soft_matching import match_softly
from deepume.arrays import smallest_number
from deepume.search.judgement.symmetry import Whole
from deepume.search.pair import CloudPair
from deepume.search.sampling.relation import (
    CloudFit,
    Finish,
    Start,
    covariance_by_points,
    invert_information,
    near_partners,
    point_jacobian,
)
from deepume.transform import RigidTransform


class Copies(Whole):
    """One cloud is a noisy copy of the other."""

    def evidence(self, start: Start) -> bool:
        """True where local densities agree as those of independent samplings never do."""
        policy = start.pair.policy.copies
        return start.pair.smaller_size >= policy.fewest and start.density_spread < policy.density_spread

    def refine(self, start: Start) -> Finish:
        """Points matched softly."""
        return Finish(*match_copies(start.pair, start.closer.pose))

    def covariance(self, pair: CloudPair, finish: Finish) -> Float[np.ndarray, "6 6"]:
        """By the noise of every point where points were coupled one to one, whatever is nearest to it."""
        factors = pair.policy.inflation
        if finish.noise is None:
            return factors.copies * covariance_by_points(finish.fit, near_partners(pair, finish.fit))
        rows = point_jacobian(finish.fit.forward.moved).reshape(-1, 6)
        return factors.coupled * finish.noise * invert_information(rows.T @ rows)


COPIES = Copies()


def match_copies(pair: CloudPair, pose: RigidTransform) -> tuple[CloudFit, Copies, float | None]:
    """A finish: points matched softly, and one to one, with the noise, where the clouds turn out to be copies."""
    policy = pair.policy.copies
    soft = match_softly(pair.source, pair.target, pose, policy.soft)
    if not are_one_to_one(pair, soft):
        return pair.fit(soft), COPIES, None
    coupling = couple_points(pair.source, pair.target, soft, policy.coupling)
    return pair.fit(coupling.pose), COPIES, coupling.variance


def are_one_to_one(pair: CloudPair, pose: RigidTransform) -> bool:
    """True where the clouds have the same points but for noise, seen from their moments."""
    same_size = len(pair.source.points) == len(pair.target.points)
    return same_size and moment_gap(pair, pose) < pair.policy.copies.moments


def moment_gap(pair: CloudPair, pose: RigidTransform) -> float:
    """How far the first and second moments of the clouds differ, compared with what sampling does: 1, if it is all.

    Two samplings of an object have different moments, by the root of two over the number of points; noise on the
    points of one changes them far less. The mean of the variances is left out: noise adds to it. Seen from the frames
    of both clouds, so that it does not matter which is called source.
    """
    moved, fixed = pose.apply(pair.source.points), pair.target.points
    middle = (moved.mean(0) + fixed.mean(0)) / 2
    axes = np.stack([pose.rotation @ pair.source.frame.axes, pair.target.frame.axes])
    terms, others = _moment_terms((moved - middle) @ axes), _moment_terms((fixed - middle) @ axes)
    by_chance = terms.var(-2, ddof=1) / len(moved) + others.var(-2, ddof=1) / len(fixed)
    squares = (terms.mean(-2) - others.mean(-2)) ** 2 / np.maximum(by_chance, smallest_number(terms))
    return float(np.sqrt(squares.mean()))


def _moment_terms(points: Float[np.ndarray, "F N 3"]) -> Float[np.ndarray, "F N 8"]:
    x, y, z = np.moveaxis(points, -1, 0)
    return np.stack([x, y, z, x * y, y * z, z * x, x * x - y * y, y * y - z * z], -1)
