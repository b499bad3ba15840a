"""Clouds with some points in common: these fix the pose exactly."""

from __future__ import annotations

import numpy as np
from jaxtyping import Bool, Float

from deepume.geometry.rotation import solve_motion
from deepume.search.judgement.symmetry import Whole
from deepume.search.pair import CloudPair
from deepume.search.sampling.copies import COPIES
from deepume.search.sampling.relation import CloudFit, Finish, Start, covariance_by_points
from deepume.transform import RigidTransform


class Shared(Whole):
    """Some points are the same in both clouds."""

    def evidence(self, start: Start) -> bool:
        """True where common points may be: in clouds that fit too well, and in sparse ones, where none is expected."""
        too_close = start.fit.score < start.pair.policy.shared.score
        return too_close or not start.pair.dense or COPIES.evidence(start)

    def refine(self, start: Start) -> Finish | None:
        """The pose that common points give; None where there are none."""
        return self.refine_from(start.pair, start.closer.pose)

    def refine_from(self, pair: CloudPair, pose: RigidTransform) -> Finish | None:
        """The same from a pose that needs no nearest points first."""
        shared = lock_onto_shared(pair, pose)
        return None if shared is None else Finish(pair.fit(shared), self)

    def hides_surface(self, pair: CloudPair, fit: CloudFit) -> bool:
        """False: common points fix the pose whatever the surface."""
        return False

    def covariance(self, pair: CloudPair, finish: Finish) -> Float[np.ndarray, "6 6"]:
        """By the common points only."""
        near = finish.fit.forward.partners.distances <= pair.policy.shared.distance / 2 * pair.target.spacing
        return pair.policy.inflation.shared * covariance_by_points(finish.fit, near)


SHARED = Shared()


def lock_onto_shared(pair: CloudPair, pose: RigidTransform) -> RigidTransform | None:
    """The pose that shared points give, exact to rounding; None where the clouds share none.

    A robust kernel (Geman and McClure) whose scale shrinks step by step: matches that are not the same point drop out.
    """
    policy = pair.policy.shared
    scale = policy.widest * max(pair.source.spacing, pair.target.spacing)
    # Both clouds look for partners, so that every common point is counted twice.
    near, fewest = 2 * policy.distance * scale, 2 * max(policy.fewest, policy.share * pair.smaller_size)
    for _ in range(policy.steps):
        fit = pair.fit(pose)
        distances = fit.distances
        weights = 1 / (1 + (distances / scale) ** 2) ** 2
        if int((distances < near).sum()) >= fewest:
            pose = _solve(fit, (distances < near).astype(float))
            break
        if float(weights.sum()) < fewest / 2:  # no common points are in sight, and the kernel only gets narrower
            return None
        pose, scale = _solve(fit, weights), policy.shrinkage * scale
    fit = pair.fit(pose)
    same = fit.distances < near
    return _solve_some(fit, same) if int(same.sum()) >= fewest else None


def _solve(fit: CloudFit, weights: Float[np.ndarray, "P"]) -> RigidTransform:
    return solve_motion(*fit.matches, weights)


def _solve_some(fit: CloudFit, some: Bool[np.ndarray, "P"]) -> RigidTransform:
    source, target = fit.matches
    return solve_motion(source[some], target[some])
