"""What the scores of a few poses say together: equals, symmetry, ambiguity, and the features of confidence."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from deepume.alignment.indexed_pair import PreparedPair
from deepume.alignment.score import EXACT_SCORE, explains_as_well
from deepume.result import Symmetry
from deepume.search.candidates import Candidates
from deepume.search.finish import Finish, Sampling
from deepume.search.judgement.evidence import describe_fit
from deepume.search.judgement.symmetry import explains, find_symmetry
from deepume.search.sampling.overlap import share_off_surface
from deepume.transform import RigidTransform

NO_RIVAL = torch.inf
"""The lead of an answer that has none."""
SYMMETRIC_SLACK = 2.0
"""A pose that symmetry explains counts as equal while its score is worse by at most this many times chance."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """Poses of one pair compared; the first is the answer."""

    poses: RigidTransform
    scores: Float[Tensor, "K"]
    as_well: Bool[Tensor, "K"]
    """Poses that fit as well as the answer does."""
    symmetry: Symmetry
    ambiguous: Bool[Tensor, ""]
    """True where a pose fits as well that symmetry does not explain."""
    features: Float[Tensor, "F"]
    """What confidence is computed from."""


def judge_poses(pair: PreparedPair, finish: Finish, rivals: Candidates, *, trials: bool = True) -> Judgement:
    """Compare the answer with its distinct rivals; with ``trials``, try turns besides them."""
    answer = finish.fit.pose
    poses = RigidTransform.concatenate([answer[None], rivals.poses])
    scores = torch.cat([rivals.scores.new_tensor([finish.fit.score]), rivals.scores])
    if finish.sampling is Sampling.PARTS:
        return _judge_parts(pair, finish, poses, scores)
    as_well = explains_as_well(scores, len(pair.source.points) + len(pair.target.points))
    symmetry = find_symmetry(pair.for_search, poses, scores, trials=trials)
    same = explains(symmetry, poses.rotation @ answer.rotation.mT)
    others = scores[~same]
    lead = float(others.min() / scores[0].clamp_min(1e-6)) - 1 if len(others) else NO_RIVAL
    # Rivals are refined less far than the answer: where symmetry explains them, a little more may be missing.
    nearly = scores <= scores[0] * (1 + SYMMETRIC_SLACK * pair.chance) + EXACT_SCORE
    ambiguous, features = (as_well & ~same).any(), describe_fit(pair, finish, lead)
    return Judgement(poses, scores, as_well | (same & nearly), symmetry, ambiguous, features)


def _judge_parts(pair: PreparedPair, finish: Finish, poses: RigidTransform, scores: Float[Tensor, "K"]) -> Judgement:
    """Of parts, rivals fit as well that leave no more off the surface; no turn of one onto another is a symmetry."""
    off = share_off_surface(pair.for_search, poses)
    as_well = off <= off[0] * (1 + pair.chance)
    none = Symmetry(poses.rotation.new_zeros(0, 3), ())
    features = describe_fit(pair, finish, NO_RIVAL if finish.lead is None else finish.lead)
    return Judgement(poses, scores, as_well, none, as_well[1:].any(), features)
