"""Hypotheses with their scores, and whether they leave a doubt."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from deepume.alignment.gicp import GicpSettings
from deepume.alignment.indexed_pair import PreparedPair
from deepume.alignment.nearest_points import IcpSettings
from deepume.alignment.score import DISTINCT_ANGLE, take_poses
from deepume.geometry.rotation_grids import distinct_mask
from deepume.transform import RigidTransform

FINALIST_GICP = GicpSettings(iterations=8, tolerance=1e-3, two_sided=False)
FINALIST_ICP = IcpSettings(iterations=20, tolerance=1e-4)
CLEAR_LEAD = 4.0
"""A rival is beaten beyond doubt when its score is worse by this many times what chance can do."""
SPARSE = 0.1
"""Where chance moves scores by more (some 500 points in both clouds together), every stage is worth its time."""


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


def refine_whole(pair: PreparedPair, poses: RigidTransform) -> RigidTransform:
    """Poses near enough to an optimum of the score to be compared."""
    return pair.gicp(poses, FINALIST_GICP) if pair.dense else pair.icp(poses, FINALIST_ICP)
