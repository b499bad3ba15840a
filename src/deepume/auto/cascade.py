"""Hypotheses from cheap to dear: a stage runs only while the best pose so far is in doubt and time is left."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from deepume.auto.network import network_poses
from deepume.auto.prepared import PreparedPair
from deepume.gicp import GicpSettings
from deepume.hypotheses import axis_exchanges, axis_sweep, distinct_mask, frame_poses, rotation_grid, sign_changes
from deepume.icp import IcpSettings
from deepume.method import Effort
from deepume.rotation import geodesic_angle
from deepume.score import DISTINCT_ANGLE, take_poses
from deepume.transform import RigidTransform

COARSE_GICP = GicpSettings(reach=10.0, iterations=12, tolerance=1e-3, two_sided=False)
FINALIST_GICP = GicpSettings(iterations=8, tolerance=1e-3, two_sided=False)
FINALIST_ICP = IcpSettings(iterations=20, tolerance=1e-4)
FINALISTS = 6
"""Hypotheses of a stage that are refined on the whole clouds."""
KNOWN_ANGLE = 8 * torch.pi / 180
"""Refined, a pose this near to a refined one would end there, too; a farther one may yet lock onto common points."""
CLEAR_LEAD, FAIR_LEAD = 4.0, 0.5
"""A rival is beaten beyond doubt, or well enough for a fast answer, when its score is worse by this many times what
chance can do."""
SPARSE = 0.1
"""Where chance moves scores by more (some 500 points in both clouds together), every stage is worth its time."""
NETWORK_POINTS = 100
"""From this many points on, frames and grid find what the network finds, in less time."""


@dataclass(frozen=True, slots=True)
class Candidates:
    """Refined hypotheses with their scores."""

    poses: RigidTransform
    scores: Float[Tensor, "K"]

    @classmethod
    def rank(cls, pair: PreparedPair, poses: RigidTransform) -> Candidates:
        """Score poses on the pair, drop repetitions, sort."""
        return cls(poses, pair.score(poses)).sorted()

    def __getitem__(self, some: slice | Bool[Tensor, "K"]) -> Candidates:
        """Some of them."""
        return Candidates(self.poses[some], self.scores[some])

    def near(self, lead: float) -> Bool[Tensor, "K"]:
        """Those of a sorted list that the best one leads by no more than a part of its score."""
        return self.scores <= self.scores[0] * (1 + lead)

    def join(self, other: Candidates) -> Candidates:
        """Both, ranked together."""
        poses, scores = RigidTransform.concatenate([self.poses, other.poses]), torch.cat([self.scores, other.scores])
        return Candidates(poses, scores).sorted()

    def sorted(self) -> Candidates:
        """Best first, without repetitions."""
        kept = distinct_mask(self.poses.rotation, self.scores, DISTINCT_ANGLE).nonzero().squeeze(-1)
        order = kept[self.scores[kept].argsort(stable=True)]
        return Candidates(take_poses(self.poses, order), self.scores[order])


Stage = Callable[[PreparedPair, Candidates], Candidates]
"""Adds to what was found."""


def search_poses(
    pair: PreparedPair,
    effort: Effort,
    deadline: float | None,
    given: RigidTransform | None = None,
    *,
    learned: bool = True,
) -> Candidates:
    """Hypotheses of the pair from as many stages as the effort, the doubt and the clock (``deadline``) ask for."""
    pair = pair.for_search
    found = from_signs(pair)
    settled = is_settled(pair.quick, found, effort)
    found = carry_over(pair, found, refine=not settled)
    if given is not None:
        found = found.join(Candidates.rank(pair, RigidTransform.concatenate([given, refine_whole(pair, given)])))
    for stage in () if settled else _stages(pair, effort, learned):
        late = deadline is not None and time.monotonic() > deadline
        doubt = in_doubt(pair, found) if stage is from_frames else misfits(pair, found)
        if late or (effort is Effort.AUTO and not doubt):
            break
        found = found.join(stage(pair, found))
    return found


def is_settled(quick: PreparedPair, found: Candidates, effort: Effort) -> bool:
    """Whether few points decide already, so that the best pose can be left as it is to the last refinement."""
    if effort is Effort.THOROUGH or not quick.dense:
        return False
    return not (has_rivals(quick, found, FAIR_LEAD) if effort is Effort.FAST else in_doubt(quick, found))


def carry_over(pair: PreparedPair, found: Candidates, *, refine: bool) -> Candidates:
    """What was found on few points, for the pair itself: the two best refined if asked for, all scored.

    Poses beaten on few points stay as they are: to be listed, and to show how clear the lead is.
    """
    if pair.quick is pair:
        return found
    leaders, beaten = found.poses[:2], found.poses[2 if refine else 0 :]
    scored = Candidates(beaten, pair.score(beaten, asking=pair.quick))
    return Candidates.rank(pair, refine_whole(pair, leaders)).join(scored) if refine else scored


def _stages(pair: PreparedPair, effort: Effort, learned: bool) -> tuple[Stage, ...]:
    """From cheap to dear; the network's hypotheses find more than frames and grid on the sparsest clouds alone."""
    if effort is Effort.FAST:
        return ()
    if learned and pair.smaller_size < NETWORK_POINTS:
        return from_frames, from_network, from_grid
    return from_frames, from_grid


def in_doubt(pair: PreparedPair, found: Candidates) -> bool:
    """False where the best pose fits as samplings of one surface do, and no other comes near."""
    return misfits(pair, found) or has_rivals(pair, found)


def has_rivals(pair: PreparedPair, found: Candidates, lead: float = CLEAR_LEAD) -> bool:
    """True where another pose fits nearly as well as the best one."""
    return bool(found.near(lead * pair.chance)[1:].any())


def misfits(pair: PreparedPair, found: Candidates) -> bool:
    """True where the best pose fits worse than samplings of one surface do, or the clouds are too sparse to tell.

    Rivals that fit as well as a pose that fits are symmetry, or will look like it: further stages do not help.
    """
    return bool(found.scores[0] > 1 + pair.chance) or pair.chance > SPARSE


def from_signs(pair: PreparedPair) -> Candidates:
    """The four proper pairings of the principal frames, refined: a frame that fits worse at first may fit best.

    Of dense clouds few points take part, and the scores are theirs.
    """
    poses, few = frame_poses(pair.source.frame, pair.target.frame, sign_changes()), pair.quick
    return Candidates.rank(few, few.gicp(poses, COARSE_GICP) if pair.dense else refine_whole(few, poses))


def from_frames(pair: PreparedPair, found: Candidates) -> Candidates:
    """All 24 pairings of principal axes of evenly spread points, and a sweep where two variances are alike.

    The four proper ones also about the middles of the extents, which stay where the density changes along a shape.
    """
    clouds = pair.coarse.source, pair.coarse.target
    frames = clouds[0].frame, clouds[1].frame
    poses = frame_poses(*frames, torch.cat([axis_exchanges(), axis_sweep(*frames)]))
    middles = clouds[0].frame.about_middle(clouds[0].points), clouds[1].frame.about_middle(clouds[1].points)
    return refine_stage(pair, RigidTransform.concatenate([poses, frame_poses(*middles, sign_changes())]), found)


def from_grid(pair: PreparedPair, found: Candidates) -> Candidates:
    """Rotations spread evenly over SO(3)."""
    poses = frame_poses(pair.coarse.source.frame, pair.coarse.target.frame, rotation_grid(72))
    return refine_stage(pair, poses, found)


def from_network(pair: PreparedPair, _: Candidates) -> Candidates:
    """What the network makes of the four proper frames."""
    return Candidates.rank(pair, refine_whole(pair, network_poses(pair)))


def refine_stage(pair: PreparedPair, poses: RigidTransform, found: Candidates) -> Candidates:
    """Many hypotheses refined on few points; the best few on all of them.

    Where a pose was found that fits, only poses that rival it on few points and are not found yet are worth that.
    """
    few = Candidates.rank(pair.coarse, pair.coarse.gicp(poses, COARSE_GICP))
    if not misfits(pair, found):
        known = found.poses.rotation[found.near(CLEAR_LEAD * pair.chance)]
        new = geodesic_angle(few.poses.rotation.unsqueeze(1), known).amin(-1) > KNOWN_ANGLE
        few = few[few.near(CLEAR_LEAD * pair.coarse.chance) & new]
    if not len(few.scores):
        return few
    return Candidates.rank(pair, refine_whole(pair, few.poses[:FINALISTS]))


def refine_whole(pair: PreparedPair, poses: RigidTransform) -> RigidTransform:
    """Poses near enough to an optimum of the score to be compared."""
    return pair.gicp(poses, FINALIST_GICP) if pair.dense else pair.icp(poses, FINALIST_ICP)
