"""What the two clouds show of an answer without the truth: the features that confidence is computed from."""

from __future__ import annotations

import math

import torch
from jaxtyping import Float
from torch import Tensor

from deepume.auto.copies import moment_gap
from deepume.auto.finish import Finish, Sampling
from deepume.auto.fit import Side
from deepume.auto.prepared import PreparedPair
from deepume.gicp import NEIGHBORS

FEATURES = (
    "score", "excess", "lead", "size", "overlap", "median", "tail", "local", "surface", "frames", "gradient", "shared",
    "copies", "moments", "parts", "laid",
)  # fmt: skip
"""What the model sees of a pair."""
LEAD_LIMIT = 1.0
"""A lead larger than this is no surer."""
COVERED = 2.0
"""A point with a partner within this many spacings is covered by the other cloud."""
FARTHEST = 4.0
"""Distances beyond this many spacings count as this many."""
THINNEST, WIDEST_GAP = 1e-4, 3.0
"""Variances below the first, in squared sizes of the pair, are none; gaps beyond the second are no wider."""
WIDEST_MOMENTS = 50.0
"""Gaps between moments beyond this, in what sampling does, are no wider."""
FEWEST_COVERED = 8
"""Fewer points have no gradient worth a line through them."""


def describe_fit(pair: PreparedPair, finish: Finish, rival_score: float | None) -> Float[Tensor, "F"]:
    """The features of an answer; ``rival_score`` is that of the best rival that symmetry does not explain, if any."""
    fit, sides = finish.fit, (finish.fit.forward, finish.fit.backward)
    plain, local = [_in_spacings(side) for side in sides], [each.local_distances.clamp_max(FARTHEST) for each in sides]
    ordered = [each.sort().values for each in plain]
    values = {
        "score": fit.score,
        "excess": max(-1.0, min(4.0, (fit.score - 1) / pair.chance / 5)),
        "lead": min(LEAD_LIMIT, _lead(finish, rival_score)),
        "size": math.log2(pair.smaller_size) / 10,
        "overlap": min(float((each < COVERED).double().mean()) for each in plain),
        "median": max(float(each[len(each) // 2]) for each in ordered),
        "tail": max(float(each[len(each) * 9 // 10]) for each in ordered),
        "local": sum(float(each.mean()) for each in local) / 2,
        "surface": fit.surface_score if pair.smaller_size > NEIGHBORS else fit.score,
        "frames": _frame_gap(pair),
        "gradient": sum(_density_gradient(side) for side in sides) / 2,
        "shared": float(finish.sampling is Sampling.SHARED),
        "copies": float(finish.sampling is Sampling.COPIES),
        "moments": math.log1p(min(WIDEST_MOMENTS, moment_gap(pair, fit.pose))),
        "parts": fit.lonely_share,
        "laid": float(finish.sampling is Sampling.PARTS),
    }
    return torch.tensor([values[name] for name in FEATURES], dtype=torch.float64)


def _lead(finish: Finish, rival_score: float | None) -> float:
    """By what share the best rival is worse: of wholes by its score, of parts by what it leaves off the surface."""
    if finish.sampling is Sampling.PARTS:
        return LEAD_LIMIT if finish.lead is None else finish.lead
    return LEAD_LIMIT if rival_score is None else rival_score / max(finish.fit.score, 1e-6) - 1


def _in_spacings(side: Side) -> Float[Tensor, "N"]:
    """Distances from the points of one cloud to the other in spacings of the other, truncated."""
    return (side.partners.distances / side.fixed.spacing).clamp_max(FARTHEST)


def _frame_gap(pair: PreparedPair) -> float:
    """How far the variances along the principal axes of the two clouds are apart, at most, in logarithms."""
    source, target = (each.frame.variances.clamp_min(THINNEST) for each in (pair.source, pair.target))
    return float((source / target).log().abs().max().clamp_max(WIDEST_GAP))


def _density_gradient(side: Side) -> float:
    """How much the ratio of the two spacings changes along the object: the spread of its linear part, in logarithms.

    A sampling that thins out towards one end has a large one, and is no sign of a wrong answer.
    """
    here, there = side.moving.local_spacing, side.fixed.local_spacing[side.partners.indices]
    covered = side.partners.distances < COVERED * torch.maximum(here, there)
    if int(covered.sum()) < FEWEST_COVERED:
        return 0.0
    places, ratios = side.moved[covered], (here / there).log()[covered].unsqueeze(-1)
    places, ratios = places - places.mean(0), ratios - ratios.mean(0)
    # By normal equations: a least-squares solver may round differently from call to call.
    slope = torch.linalg.pinv(places.mT @ places, hermitian=True) @ (places.mT @ ratios)
    return float((places @ slope).std())
