"""What the two clouds show of an answer without the truth: the features that confidence is computed from."""

from __future__ import annotations

import math

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from deepume.alignment.fit import Side
from deepume.alignment.gicp import NEIGHBORS
from deepume.alignment.indexed_pair import PreparedPair
from deepume.alignment.score import TRUNCATION
from deepume.geometry.spacing import NEIGHBOR_SPREAD
from deepume.search.finish import Finish
from deepume.search.judgement.one_sided import hidden_share
from deepume.search.judgement.two_samples import sample_gap
from deepume.search.network import predict_score

FEATURES = (
    "score", "better", "lead", "size", "samples", "lonely", "clustered", "normals", "off_surface", "network", "hidden",
    "hidden_more",
)  # fmt: skip
"""What the model sees of a pair."""
LEAD_LIMIT = 1.0
"""A lead larger than this is no surer."""
COVERED = 2.0
"""A point with a partner within this many spacings is covered by the other cloud."""
FEWEST_COVERED = 8
"""Of fewer points nothing can be said apart from the others."""


def describe_fit(pair: PreparedPair, finish: Finish, lead: float) -> Float[Tensor, "F"]:
    """The features of an answer; ``lead`` is by what share the best rival that symmetry does not explain is worse."""
    sides = sorted((finish.fit.forward, finish.fit.backward), key=_excess)
    has_normals = pair.smaller_size > NEIGHBORS
    hidden, more = sorted(hidden_share(cloud) for cloud in (pair.source, pair.target))
    values = {
        "score": finish.fit.score,
        "better": _compress(_excess(sides[0])),
        "lead": min(LEAD_LIMIT, lead),
        "size": math.log2(pair.smaller_size) / 10,
        "samples": _compress(sample_gap(pair, finish.fit.pose)),
        "lonely": min(float(_is_alone(side).double().mean()) for side in sides),
        "clustered": min(_clustering(side) for side in sides),
        "normals": min(_agreement(side) for side in sides) if has_normals else 0.0,
        "off_surface": float(_off_surface(sides[1], has_normals=has_normals).median()),
        "network": 0.0 if pair.dense else predict_score(pair, finish.fit.pose),
        "hidden": hidden,
        "hidden_more": more,
    }
    return torch.tensor([values[name] for name in FEATURES], dtype=torch.float64)


def _excess(side: Side) -> float:
    """How much farther off the points of one cloud are than sampling explains, in what chance can do."""
    distances = (side.partners.distances / side.fixed.spacing).clamp_max(TRUNCATION)
    return float(distances.mean() - 1) * len(distances) ** 0.5 / (3 * NEIGHBOR_SPREAD)


def _compress(value: float) -> float:
    """The logarithm of large values, of either sign."""
    return math.copysign(math.log1p(abs(value)), value)


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


def _of_covered(values: Float[Tensor, "N"], side: Side) -> Float[Tensor, "K"]:
    """Values of the covered points; of all, if these are too few."""
    covered = ~_is_alone(side)
    return values[covered] if int(covered.sum()) >= FEWEST_COVERED else values
