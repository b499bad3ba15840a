"""What the two clouds show of an answer without the truth: the features that confidence is computed from."""

from __future__ import annotations

import math

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from deepume.auto.cloud import PreparedCloud
from deepume.auto.copies import moment_gap
from deepume.auto.finish import Finish, Sampling
from deepume.auto.fit import Side
from deepume.auto.network import predict_score
from deepume.auto.prepared import PreparedPair
from deepume.auto.samples import sample_gap
from deepume.gicp import NEIGHBORS
from deepume.score import NEIGHBOR_SPREAD, TRUNCATION

FEATURES = (
    "score", "better", "lead", "size", "unequal", "frames", "flatness", "gradient", "moments", "samples", "lonely",
    "clustered", "normals", "off_better", "off_worse", "off_tail", "network", "shared", "copies",
    "laid",
)  # fmt: skip
"""What the model sees of a pair."""
LEAD_LIMIT = 1.0
"""A lead larger than this is no surer."""
COVERED = 2.0
"""A point with a partner within this many spacings is covered by the other cloud."""
THINNEST, WIDEST_GAP = 1e-4, 3.0
"""Variances below the first, in squared sizes of the pair, are none; gaps beyond the second are no wider."""
WIDEST_MOMENTS = 50.0
"""Gaps between moments beyond this, in what sampling does, are no wider."""
FEWEST_COVERED = 8
"""Fewer points have no gradient worth a line through them."""


def describe_fit(pair: PreparedPair, finish: Finish, rival_score: float | None) -> Float[Tensor, "F"]:
    """The features of an answer; ``rival_score`` is that of the best rival that symmetry does not explain, if any."""
    sides = sorted((finish.fit.forward, finish.fit.backward), key=_excess)
    surfaces = [_off_surface(side, has_normals=pair.smaller_size > NEIGHBORS) for side in sides]
    sizes = sorted(len(each.points) for each in (pair.source, pair.target))
    values = {
        "score": finish.fit.score,
        "better": _compress(_excess(sides[0])),
        "lead": min(LEAD_LIMIT, _lead(finish, rival_score)),
        "size": math.log2(sizes[0]) / 10,
        "unequal": math.log2(sizes[1] / sizes[0]),
        "frames": _frame_gap(pair),
        "flatness": sum(float(_variances(cloud)[-1].log()) for cloud in (pair.source, pair.target)) / 2,
        "gradient": sum(_density_gradient(side) for side in sides) / 2,
        "moments": math.log1p(min(WIDEST_MOMENTS, moment_gap(pair, finish.fit.pose))),
        "samples": _compress(sample_gap(pair, finish.fit.pose)),
        "lonely": min(float(_is_alone(side).double().mean()) for side in sides),
        "clustered": min(_clustering(side) for side in sides),
        "normals": min(_agreement(side) for side in sides) if pair.smaller_size > NEIGHBORS else 0.0,
        "off_better": float(surfaces[0].median()),
        "off_worse": float(surfaces[1].median()),
        "off_tail": max(_tail(off, side) for off, side in zip(surfaces, sides, strict=True)),
        "network": 0.0 if pair.dense else predict_score(pair, finish.fit.pose),
        "shared": float(finish.sampling is Sampling.SHARED),
        "copies": float(finish.sampling is Sampling.COPIES),
        "laid": float(finish.sampling is Sampling.PARTS),
    }
    return torch.tensor([values[name] for name in FEATURES], dtype=torch.float64)


def _excess(side: Side) -> float:
    """How much farther off the points of one cloud are than sampling explains, in what chance can do."""
    distances = (side.partners.distances / side.fixed.spacing).clamp_max(TRUNCATION)
    return float(distances.mean() - 1) * len(distances) ** 0.5 / (3 * NEIGHBOR_SPREAD)


def _compress(value: float) -> float:
    """The logarithm of large values, of either sign."""
    return math.copysign(math.log1p(abs(value)), value)


def _lead(finish: Finish, rival_score: float | None) -> float:
    """By what share the best rival is worse: of wholes by its score, of parts by what it leaves off the surface."""
    if finish.sampling is Sampling.PARTS:
        return LEAD_LIMIT if finish.lead is None else finish.lead
    return LEAD_LIMIT if rival_score is None else rival_score / max(finish.fit.score, 1e-6) - 1


def _variances(cloud: PreparedCloud) -> Float[Tensor, "3"]:
    return cloud.frame.variances.clamp_min(THINNEST)


def _frame_gap(pair: PreparedPair) -> float:
    """How far the variances along the principal axes of the two clouds are apart, at most, in logarithms."""
    return float((_variances(pair.source) / _variances(pair.target)).log().abs().max().clamp_max(WIDEST_GAP))


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


def _is_alone(side: Side) -> Bool[Tensor, "N"]:
    """Points that the other cloud does not cover, by its spacing at that place."""
    return side.local_distances > COVERED


def _clustering(side: Side) -> float:
    """How much more often the neighbors of a point that is alone are alone, too, than points are in general.

    A part that the other cloud lacks is one cluster; what noise and chance leave alone is strewn.
    """
    alone = _is_alone(side).double()
    if not bool(alone.any()):
        return 0.0
    around = alone[side.moving.neighbors.indices[:, 1:]].mean(-1)
    return float(around[alone > 0].mean() - alone.mean())


def _agreement(side: Side) -> float:
    """Mean cosine between the normals of points and of their partners, where they are covered."""
    normals, others = side.moving.normals @ side.pose.rotation.mT, side.fixed.normals[side.partners.indices]
    return float(_of_covered((normals * others).sum(-1).abs(), side).mean())


def _off_surface(side: Side, *, has_normals: bool) -> Float[Tensor, "N"]:
    """Distances along the normals in spacings, truncated; plain ones for clouds too small to have normals."""
    distances = side.off_surface if has_normals else side.partners.distances
    return (distances / side.fixed.spacing).clamp_max(TRUNCATION)


def _tail(off: Float[Tensor, "N"], side: Side) -> float:
    """The distance along the normals that one in ten covered points exceeds."""
    ordered = _of_covered(off, side).sort().values
    return float(ordered[len(ordered) * 9 // 10])


def _of_covered(values: Float[Tensor, "N"], side: Side) -> Float[Tensor, "K"]:
    """Values of the covered points; of all, if these are too few."""
    covered = ~_is_alone(side)
    return values[covered] if int(covered.sum()) >= FEWEST_COVERED else values
