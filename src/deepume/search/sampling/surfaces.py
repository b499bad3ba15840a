"""Two dense samplings of one surface, without common points: laid on each other along their normals."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

from deepume.alignment.score import each_cloud_half
from deepume.geometry.rotation import solve_motion
from deepume.search.judgement.symmetry import Whole
from deepume.search.pair import CloudPair
from deepume.search.sampling.copies import match_copies
from deepume.search.sampling.relation import (
    CloudFit,
    Finish,
    Start,
    covariance_by_normals,
    near_partners,
    refine_by_points,
    shows_no_surface,
)
from deepume.transform import RigidTransform


class Surfaces(Whole):
    """Two dense samplings of one surface."""

    def evidence(self, start: Start) -> bool:
        """True for dense clouds."""
        return start.pair.dense

    def refine(self, start: Start) -> Finish:
        """GICP; where normals show no surface, points are matched softly instead, as those of copies are."""
        pair = start.pair
        fine = pair.fit(pair.gicp(start.pose[None], pair.policy.surfaces.gicp)[0])
        fine = fine if fine.surface_score < start.fit.surface_score else start.fit
        if not shows_no_surface(pair, fine):
            return Finish(correct_slide(pair, fine), self)
        soft, copies, noise = match_copies(pair, refine_by_points(pair, fine.pose))
        if soft.score > fine.score * (1 + pair.margin(pair.policy.doubt.fits)):
            return Finish(fine, self)
        return Finish(soft, self if noise is None else copies, noise)

    def covariance(self, pair: CloudPair, finish: Finish) -> Float[np.ndarray, "6 6"]:
        """By distances along the normals."""
        near = near_partners(pair, finish.fit)
        return pair.policy.inflation.surfaces * covariance_by_normals(finish.fit, near)


SURFACES = Surfaces()


def correct_slide(pair: CloudPair, fit: CloudFit) -> CloudFit:
    """The fit, or where nearest points lead from it: thin and flat surfaces may slide on each other, points do not.

    Uneven sampling would lead nearest points astray, so only clouds that fit as they are get corrected.
    """
    policy, doubt = pair.policy.surfaces, pair.policy.doubt
    if fit.score > 1 + pair.margin(doubt.may_slide):
        return fit
    pose = _first_step(pair, fit)
    if _step_length(pair, fit, pose) < pair.chance:
        return fit
    closer = fit
    for steps, gain in zip(policy.correction_steps, (policy.promising, policy.closer), strict=True):
        closer = pair.fit(refine_by_points(pair, pose, steps))
        if closer.score * (1 + pair.margin(gain)) >= fit.score:
            return fit
        pose = closer.pose
    return closer


def _first_step(pair: CloudPair, fit: CloudFit) -> RigidTransform:
    """Where nearest points move the source in one step."""
    return solve_motion(*fit.matches, each_cloud_half(pair.source, pair.target))


def _step_length(pair: CloudPair, fit: CloudFit, pose: RigidTransform) -> float:
    """How far another pose takes the source from where it fits, in spacings."""
    steps = pose.apply(pair.source.points) - fit.forward.moved
    return float(np.sqrt((steps * steps).sum(-1).mean()) / pair.target.spacing)
