"""Clouds that show different parts of an object, laid on each other by the surfaces that both show.

Nearest points draw two parts together, for every point without a counterpart pulls. What marks the true pose is how
many points lie on the other cloud's surface there, not how far off the others are.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

from deepume.alignment.ranking import best_distinct, is_distinct
from deepume.alignment.score import TRUNCATION, Measure, unmatched_share
from deepume.result import Symmetry
from deepume.search.pair import CloudPair
from deepume.search.sampling.relation import NO_RIVAL, CloudFit, Comparison, Finish, Start, covariance_by_normals
from deepume.search.sampling.shared import SHARED
from deepume.transform import RigidTransform

OFF_SURFACE = Measure(along_normals=True, truncation=1.0, reach=TRUNCATION)
"""Whatever is off the surface by more than one spacing counts as one."""


class Overlap:
    """Two samplings of different parts of an object, which overlap."""

    def evidence(self, start: Start) -> bool:
        """True where both clouds have points that the other does not cover, at the pose at which they fit as wholes."""
        pair, policy = start.pair, start.pair.policy
        if pair.smaller_size < policy.overlap.fewest:
            return False
        limit = policy.evidence.covered
        uncovered = (side.partners.distances > limit * side.fixed.spacing for side in start.fit.sides)
        return all(float(each.mean()) >= policy.overlap.uncovered for each in uncovered)

    def refine(self, start: Start) -> Finish:
        """The pose on all points; points in common, where the parts are cut from one cloud, fix it exactly."""
        pair, pose = start.pair, start.pose
        if not pair.searched_whole:
            pose = pair.gicp(pose[None], pair.policy.overlap.gicp)[0]
        return SHARED.refine_from(pair, pose) or Finish(pair.fit(pose), self)

    def hides_surface(self, pair: CloudPair, fit: CloudFit) -> bool:
        """False: parts are laid on each other by their surfaces."""
        return False

    def compare(
        self, pair: CloudPair, finish: Finish, poses: RigidTransform, scores: Float[np.ndarray, "K"]
    ) -> Comparison:
        """Rivals fit as well that leave no more off the surface; no turn of one part onto another is a symmetry."""
        off = share_off_surface(pair.for_search, poses)
        equivalent = off <= off[0] * (1 + pair.margin(pair.policy.doubt.fits))
        none = Symmetry(np.zeros((0, 3)), ())
        lead = NO_RIVAL if finish.lead is None else finish.lead
        return Comparison(equivalent, none, bool(equivalent[1:].any()), lead)

    def covariance(self, pair: CloudPair, finish: Finish) -> Float[np.ndarray, "6 6"]:
        """By distances along the normals of points that the other cloud covers."""
        near = finish.fit.forward.partners.distances <= pair.policy.evidence.covered * pair.target.spacing
        return pair.policy.inflation.overlap * covariance_by_normals(finish.fit, near)


OVERLAP = Overlap()


def overlap_poses(pair: CloudPair, known: RigidTransform, starts: RigidTransform) -> RigidTransform:
    """The distinct poses that bring most of few points onto the other surface, refined on all points of the search."""
    coarse, policy = pair.coarse, pair.policy.overlap
    close = coarse.gicp(coarse.gicp(starts, policy.starts_gicp), policy.close_gicp)
    poses = RigidTransform.concatenate([known, close])
    return pair.gicp(best_distinct(poses, share_off_surface(coarse, poses), policy.finalists), policy.gicp)


def share_off_surface(pair: CloudPair, poses: RigidTransform) -> Float[np.ndarray, "K"]:
    """Mean distance along the normals, in spacings; whatever is off by more than one spacing counts as one."""
    return pair.score(poses, OFF_SURFACE)


def believes_overlap(pair: CloudPair, whole: Finish, laid: Finish, off: float) -> bool:
    """Whether a pose of parts, which leaves the share ``off`` off the surface, is to be believed rather than wholes.

    Clearly fewer points must be off the surface if it is another pose, and points must be left without a counterpart
    in both clouds: where a sampling thins out, only one has such points.
    """
    policy = pair.policy.overlap
    if min(unmatched_share(side, policy.unmatched_spacings) for side in laid.fit.sides) < policy.unmatched:
        return False
    before = float(share_off_surface(pair.for_search, whole.fit.pose[None])[0])
    is_another = bool(is_distinct(laid.fit.pose, whole.fit.pose))
    return off <= (policy.fewer * before if is_another else before)


def lead_off_surface(poses: RigidTransform, off: Float[np.ndarray, "K"]) -> float | None:
    """How much more is off the surface at the best other pose than at the best, as a share; None without another."""
    best = int(off.argmin())
    others = is_distinct(poses, poses[best])
    return float(off[others].min() / max(off[best], 1e-6)) - 1 if others.any() else None
