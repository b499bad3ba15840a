"""Probability that a pose is right, from what is known without the truth, by a small fitted model."""

from __future__ import annotations

import json
import math
from functools import cache
from importlib.resources import files
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from deepume.auto.finish import Sampling
from deepume.auto.prepared import PreparedCloud, PreparedPair
from deepume.distances import nearest
from deepume.gicp import NEIGHBORS
from deepume.transform import RigidTransform

FEATURES = ("score", "excess", "lead", "size", "overlap", "median", "tail", "local", "surface", "shared", "copies")
"""What the model sees of a pair."""
LEAD_LIMIT = 1.0
"""A lead larger than this is no surer."""
OVERLAP_DISTANCE = 2.0
"""A point with a partner within this many spacings is covered by the other cloud."""
FARTHEST = 4.0
"""Distances beyond this many spacings count as this many."""


def describe_fit(
    pair: PreparedPair, pose: RigidTransform, sampling: Sampling, rival_score: float | None
) -> Float[Tensor, "F"]:
    """The features of a pose; ``rival_score`` is that of the best rival that symmetry does not explain, if any."""
    forward = _Distances.measure(pair.source, pair.target, pose)
    backward = _Distances.measure(pair.target, pair.source, pose.inverse())
    score = (float(forward.plain.mean()) + float(backward.plain.mean())) / 2
    has_normals = pair.smaller_size > NEIGHBORS
    values = {
        "score": score,
        "excess": max(-1.0, min(4.0, (score - 1) / pair.chance / 5)),
        "lead": LEAD_LIMIT if rival_score is None else min(LEAD_LIMIT, rival_score / max(score, 1e-6) - 1),
        "size": math.log2(pair.smaller_size) / 10,
        "overlap": min(float((each.plain < OVERLAP_DISTANCE).double().mean()) for each in (forward, backward)),
        "median": max(float(each.plain.median()) for each in (forward, backward)),
        "tail": max(float(each.plain.quantile(0.9)) for each in (forward, backward)),
        "local": (float(forward.local.mean()) + float(backward.local.mean())) / 2,
        "surface": float(pair.surface_score(pose[None])) if has_normals else score,
        "shared": float(sampling is Sampling.SHARED),
        "copies": float(sampling is Sampling.COPIES),
    }
    return torch.tensor([values[name] for name in FEATURES], dtype=torch.float64)


class _Distances(NamedTuple):
    """Distances from the points of one cloud to the other, truncated."""

    plain: Float[Tensor, "N"]
    """In spacings of the other cloud."""
    local: Float[Tensor, "N"]
    """In spacings of the other cloud at that place."""

    @classmethod
    def measure(cls, moving: PreparedCloud, fixed: PreparedCloud, pose: RigidTransform) -> _Distances:
        distances, rows = nearest(pose.apply(moving.points), fixed.points)
        plain, local = distances / fixed.spacing, distances / fixed.local_spacing[rows]
        return cls(plain.clamp_max(FARTHEST), local.clamp_max(FARTHEST))


def probability(features: Float[Tensor, "*batch F"], model: dict[str, Tensor] | None = None) -> Float[Tensor, "*batch"]:
    """Probability of being right: a network with one hidden layer."""
    weights = model or load_model()
    hidden = torch.tanh(features @ weights["hidden"] + weights["hidden_bias"])
    return torch.sigmoid(hidden @ weights["output"] + weights["output_bias"])


@cache
def load_model() -> dict[str, Tensor]:
    """The fitted model, read once."""
    plain = json.loads(files("deepume.auto").joinpath("confidence.json").read_text())
    return {name: torch.tensor(values, dtype=torch.float64) for name, values in plain["weights"].items()}
