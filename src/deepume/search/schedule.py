"""The search of one pair: proposals one after the other, cheapest first, then the last refinement of the leaders.

Only this module decides what is tried next, and stops when no other pose comes close or time is up.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from deepume.alignment.ranking import MOST_HYPOTHESES, Ranking, is_distinct
from deepume.geometry.rotation import geodesic_angle
from deepume.search.pair import CloudPair
from deepume.search.proposals.even_rotations import EVEN_ROTATIONS
from deepume.search.proposals.given_pose import given_pose
from deepume.search.proposals.learned_poses import LEARNED_POSES
from deepume.search.proposals.principal_frames import PRINCIPAL_FRAMES
from deepume.search.proposals.proposal import Detail, Proposal
from deepume.search.proposals.spread_frames import SPREAD_FRAMES
from deepume.search.sampling.copies import COPIES
from deepume.search.sampling.overlap import (
    OVERLAP,
    believes_overlap,
    lead_off_surface,
    overlap_poses,
    share_off_surface,
)
from deepume.search.sampling.points import POINTS
from deepume.search.sampling.relation import Finish, Sampling, Start
from deepume.search.sampling.shared import SHARED
from deepume.search.sampling.surfaces import SURFACES
from deepume.transform import RigidTransform

PROPOSALS: tuple[Proposal, ...] = (PRINCIPAL_FRAMES, SPREAD_FRAMES, LEARNED_POSES, EVEN_ROTATIONS)
"""Sources of hypotheses, cheapest first. The first is always used."""
SAMPLINGS: tuple[Sampling, ...] = (SHARED, COPIES, SURFACES, POINTS)
"""How whole objects are sampled, the most exact first; one of the last two always is."""


class Found(NamedTuple):
    """What a search ends with."""

    finish: Finish
    """The answer, refined to the end."""
    rivals: Ranking
    """Distinct poses that it has beaten."""

    def swapped(self) -> Found:
        """The same, the other cloud called source."""
        return Found(self.finish.swapped(), Ranking(self.rivals.poses.inverse(), self.rivals.scores))


def search_pair(
    pair: CloudPair,
    given: RigidTransform | None = None,
    deadline: float | None = None,
    proposals: Sequence[Proposal] = PROPOSALS,
) -> Found:
    """The best pose and its rivals; ``given`` is a pose of the caller's, after ``deadline`` no proposal is begun."""
    ordered = pair.ordered
    if given is not None and ordered is not pair:
        given = given.inverse()
    ranking = rank_proposals(ordered.for_search, given, deadline, proposals)[:MOST_HYPOTHESES]
    found = finish_leaders(ordered, ranking)
    if pair.policy.tries_overlap and not is_late(deadline) and not _fits(ordered, found.finish.fit.score):
        found = try_overlap(ordered, found)
    return found if ordered is pair else found.swapped()


def is_late(deadline: float | None) -> bool:
    """Whether nothing further may begin."""
    return deadline is not None and time.monotonic() > deadline


def rank_proposals(
    pair: CloudPair, given: RigidTransform | None, deadline: float | None, proposals: Sequence[Proposal] = PROPOSALS
) -> Ranking:
    """Hypotheses of as many proposals as the policy, the doubt and the clock ask for."""
    first, *others = proposals
    found, decided = _look_first(pair, first)
    if given is not None:
        found = found.join(_refine_proposed(pair, given_pose(given), found))
    if decided or not pair.policy.proposes_more:
        return found
    for proposal in others:
        if not proposal.suits(pair):
            continue
        if is_late(deadline) or not (pair.policy.exhausts or leaves_doubt(pair, found, proposal)):
            break
        found = found.join(_refine_proposed(pair, proposal, found))
    return found


def leaves_doubt(pair: CloudPair, found: Ranking, proposal: Proposal) -> bool:
    """Whether what was found leaves a doubt that a proposal may resolve.

    Rivals that fit as well as a pose that fits are symmetry, or will look like it: few proposals help there.
    """
    return misfits(pair, found) or (proposal.beats_rivals and has_rivals(pair, found, pair.policy.doubt.clear))


def misfits(pair: CloudPair, found: Ranking) -> bool:
    """True where the best pose fits worse than samplings of one surface do, or the clouds are too sparse to tell."""
    return not _fits(pair, float(found.scores[0])) or pair.chance > pair.policy.doubt.too_few_points


def has_rivals(pair: CloudPair, found: Ranking, level: float) -> bool:
    """True where another pose fits nearly as well as the best one."""
    return bool(found.near(pair.margin(level))[1:].any())


def _fits(pair: CloudPair, score: float) -> bool:
    return score <= 1 + pair.margin(pair.policy.doubt.fits)


def _look_first(pair: CloudPair, first: Proposal) -> tuple[Ranking, bool]:
    """The first proposal, on few points of dense clouds, and whether it decides the matter.

    If it does, its best pose is left as it is to the last refinement. If not, the two best are refined on all points.
    Poses beaten on few points stay as they are: to be listed, and to show how clear the lead is.
    """
    quick, policy = pair.quick, pair.policy
    poses = first.propose(pair, None)
    found = quick.rank(quick.gicp(poses, policy.quick_gicp) if pair.dense else quick.refine(poses))
    in_doubt = has_rivals(quick, found, policy.first_lead) or (policy.first_must_fit and misfits(quick, found))
    decided = quick.dense and not policy.exhausts and not in_doubt
    if quick is pair:
        return found, decided
    leaders, beaten = found.poses[:2], found.poses[0 if decided else 2 :]
    scored = Ranking(beaten, pair.score(beaten, queries=quick))
    return (scored if decided else pair.rank(pair.refine(leaders)).join(scored)), decided


def _refine_proposed(pair: CloudPair, proposal: Proposal, found: Ranking) -> Ranking:
    """Poses of a proposal, refined and ranked.

    Many poses are refined on few points first. Where a pose was found that fits, only poses that rival it on few points
    and are not found yet are worth refining on all.
    """
    poses, policy = proposal.propose(pair, found), pair.policy
    if proposal.detail is not Detail.COARSE:
        refined = pair.refine(poses)
        return pair.rank(RigidTransform.concatenate([poses, refined]) if proposal.keeps_start else refined)
    few = pair.coarse.rank(pair.coarse.gicp(poses, policy.coarse_gicp))
    if not misfits(pair, found):
        known = found.poses.rotation[found.near(pair.margin(policy.doubt.clear))]
        is_new = geodesic_angle(few.poses.rotation[:, None], known).min(-1) > policy.known_angle
        few = few[few.near(pair.coarse.margin(policy.doubt.clear)) & is_new]
    if not len(few.scores):
        return few
    return pair.rank(pair.refine(few.poses[: policy.finalists]))


def finish_leaders(pair: CloudPair, found: Ranking) -> Found:
    """The best pose refined to the end, after rivals that might beat it were refined to the end, too.

    Matched point by point, clouds fit better than the search left them: then more rivals must be refined.
    """
    policy, first = pair.policy, finish_pose(pair, found.poses[0])
    hides_surface = first.sampling.hides_surface(pair, first.fit)
    near = found.near(pair.margin(policy.doubt.clear if hides_surface else policy.finished_lead))
    near[policy.most_finished :] = False
    finishes = [first, *(finish_pose(pair, pose) for pose in found.poses[near][1:])]
    rest = found[~near]
    return choose(finishes, rest if pair.searched_whole else Ranking(rest.poses, pair.score(rest.poses)))


def finish_pose(pair: CloudPair, pose: RigidTransform) -> Finish:
    """Refine one pose on the whole clouds, in the way that suits how they were sampled."""
    start = Start(pair, pose)
    finishes = (sampling.refine(start) for sampling in SAMPLINGS if sampling.evidence(start))
    return next(finish for finish in finishes if finish is not None)


def choose(finishes: Sequence[Finish], rest: Ranking) -> Found:
    """The best of the finished poses, and all others that are not the same."""
    best = min(finishes, key=lambda each: each.fit.score)
    beaten = [each.fit for each in finishes if each is not best]
    poses = RigidTransform.concatenate([*(fit.pose[None] for fit in beaten), rest.poses])
    scores = np.concat([[fit.score for fit in beaten], rest.scores])
    others = is_distinct(poses, best.fit.pose)
    return Found(best, Ranking.of(poses[others], scores[others]))


def try_overlap(pair: CloudPair, found: Found) -> Found:
    """The pose at which most points lie on the other surface, if that is to be believed rather than what was found.

    Rivals at which nearest points are closer, though fewer lie on the surface, are refuted by that, and left out.
    """
    whole, searched = found.finish, pair.for_search
    if not OVERLAP.evidence(Start(pair, whole.fit.pose)):
        return found
    known = RigidTransform.concatenate([whole.fit.pose[None], found.rivals.poses])
    starts = [each.propose(searched, found.rivals) for each in PROPOSALS if each.detail is Detail.COARSE]
    poses = overlap_poses(searched, known, RigidTransform.concatenate(starts))
    off = share_off_surface(searched, poses)
    best = int(off.argmin())
    laid = OVERLAP.refine(Start(pair, poses[best]))._replace(lead=lead_off_surface(poses, off))
    if not believes_overlap(pair, whole, laid, float(off[best])):
        return found
    beaten = pair.rank(RigidTransform.concatenate([known, poses]))
    others = is_distinct(beaten.poses, laid.fit.pose) & (beaten.scores >= laid.fit.score)
    return Found(laid, beaten[others])
