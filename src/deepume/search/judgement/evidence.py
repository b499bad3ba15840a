"""What the two clouds show of an answer without the truth: the features that confidence is computed from."""

from __future__ import annotations

import math

import numpy as np
from jaxtyping import Bool, Float

from deepume.alignment.score import NEAREST, SURFACE, Fit, Side, chance_of, local_distances
from deepume.arrays import lower_median
from deepume.geometry.searchable import IndexedCloud
from deepume.search.judgement.cloud_tests import hidden_share, sample_gap
from deepume.search.network_queries import predict_score
from deepume.search.pair import CloudPair
from deepume.search.policy import Evidence

FEATURES = (
    "score", "better", "lead", "size", "sample_gap", "unmatched", "clustered", "normals", "off_surface", "network",
    "hidden", "hidden_more",
)  # fmt: skip
"""What the model sees of a pair."""

CloudSide = Side[IndexedCloud]


def describe_fit(pair: CloudPair, fit: Fit[IndexedCloud], lead: float) -> Float[np.ndarray, "F"]:
    """The features of an answer; ``lead`` is how much worse the best rival is that symmetry does not explain."""
    policy = pair.policy.evidence
    sides = sorted(fit.sides, key=_excess)
    unmatched = [local_distances(side) > policy.covered for side in sides]
    both = list(zip(sides, unmatched, strict=True))
    has_normals = pair.smaller_size > pair.source.normal_neighbors
    hidden, more = sorted(hidden_share(cloud, policy) for cloud in (pair.source, pair.target))
    values = {
        "score": fit.score,
        "better": _compress(_excess(sides[0])),
        "lead": min(policy.most_lead, lead),
        "size": math.log2(pair.smaller_size) / 10,
        "sample_gap": _compress(sample_gap(pair, fit.pose)),
        "unmatched": min(float(each.mean()) for each in unmatched),
        "clustered": min(_clustering(*each) for each in both),
        "normals": min(_agreement(*each, policy) for each in both) if has_normals else 0.0,
        "off_surface": lower_median(sides[1].distances(SURFACE if has_normals else NEAREST)),
        "network": 0.0 if pair.dense else predict_score(pair, fit.pose),
        "hidden": hidden,
        "hidden_more": more,
    }
    return np.array([values[name] for name in FEATURES])


def _excess(side: CloudSide) -> float:
    """How much farther off the points of one cloud are than sampling explains, in what chance can do."""
    distances = side.distances(NEAREST)
    return float(distances.mean() - 1) / chance_of(2 * len(distances))


def _compress(value: float) -> float:
    """The logarithm of large values, of either sign."""
    return math.copysign(math.log1p(abs(value)), value)


def _clustering(side: CloudSide, unmatched: Bool[np.ndarray, "N"]) -> float:
    """How much more often the neighbors of an unmatched point are unmatched, too, than points are in general.

    A part that the other cloud does not show is one cluster; what noise and chance leave unmatched is scattered.
    """
    if not unmatched.any():
        return 0.0
    around = unmatched[side.moving.neighbors.indices[:, 1:]].mean(-1)
    return float(around[unmatched].mean() - unmatched.mean())


def _agreement(side: CloudSide, unmatched: Bool[np.ndarray, "N"], policy: Evidence) -> float:
    """Mean cosine between the normals of points and of their partners, where they are covered, if enough are."""
    normals = side.moving.normals @ side.poses.rotation.mT
    cosines = np.abs((normals * side.at_partners(side.fixed.normals)).sum(-1))
    covered = ~unmatched
    return float((cosines[covered] if int(covered.sum()) >= policy.fewest_covered else cosines).mean())
