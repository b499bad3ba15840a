"""How an answer stands against its rivals: equals, symmetry, ambiguity, lead."""

from __future__ import annotations

from typing import NamedTuple

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from deepume.alignment.score import EXACT_SCORE, explains_as_well
from deepume.result import Symmetry
from deepume.search.judgement.symmetry import explains, find_symmetry
from deepume.search.pair import CloudPair
from deepume.transform import RigidTransform

NO_RIVAL = torch.inf
"""The lead of an answer that has none."""


class Comparison(NamedTuple):
    """Poses of one pair compared; the first is the answer."""

    equivalent: Bool[Tensor, "K"]
    """Poses that fit as well as the answer does."""
    symmetry: Symmetry
    ambiguous: Bool[Tensor, ""]
    """True where a pose fits as well that symmetry does not explain."""
    lead: float
    """How much worse the best rival is that symmetry does not explain, as a share."""


def compare_wholes(pair: CloudPair, poses: RigidTransform, scores: Float[Tensor, "K"]) -> Comparison:
    """Compare poses of two clouds that show the whole object, by their scores and its symmetry."""
    as_well = explains_as_well(scores, pair.margin(pair.policy.doubt.fits))
    symmetry = find_symmetry(pair.for_search, poses, scores)
    same = explains(symmetry, poses.rotation @ poses.rotation[0].mT, pair.policy.turns)
    others = scores[~same]
    lead = float(others.min() / scores[0].clamp_min(1e-6)) - 1 if len(others) else NO_RIVAL
    # Rivals are refined less far than the answer: where symmetry explains them, a little more may be missing.
    nearly = scores <= scores[0] * (1 + pair.margin(pair.policy.doubt.close)) + EXACT_SCORE
    return Comparison(as_well | (same & nearly), symmetry, (as_well & ~same).any(), lead)
