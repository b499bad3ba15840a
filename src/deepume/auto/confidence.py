"""Probability that a pose is right, from what is known without the truth, by a small fitted model."""

from __future__ import annotations

import json
import math
from functools import cache
from importlib.resources import files

import torch
from jaxtyping import Float
from torch import Tensor

from deepume.auto.finish import Finish, Sampling
from deepume.auto.fit import Side
from deepume.auto.prepared import PreparedPair
from deepume.gicp import NEIGHBORS

FEATURES = ("score", "excess", "lead", "size", "overlap", "median", "tail", "local", "surface", "shared", "copies")
"""What the model sees of a pair."""
LEAD_LIMIT = 1.0
"""A lead larger than this is no surer."""
OVERLAP_DISTANCE = 2.0
"""A point with a partner within this many spacings is covered by the other cloud."""
FARTHEST = 4.0
"""Distances beyond this many spacings count as this many."""


def describe_fit(pair: PreparedPair, finish: Finish, rival_score: float | None) -> Float[Tensor, "F"]:
    """The features of an answer; ``rival_score`` is that of the best rival that symmetry does not explain, if any."""
    fit, sides = finish.fit, (finish.fit.forward, finish.fit.backward)
    plain, local = [_in_spacings(side) for side in sides], [_in_local_spacings(side) for side in sides]
    values = {
        "score": fit.score,
        "excess": max(-1.0, min(4.0, (fit.score - 1) / pair.chance / 5)),
        "lead": LEAD_LIMIT if rival_score is None else min(LEAD_LIMIT, rival_score / max(fit.score, 1e-6) - 1),
        "size": math.log2(pair.smaller_size) / 10,
        "overlap": min(float((each < OVERLAP_DISTANCE).double().mean()) for each in plain),
        "median": max(float(each.median()) for each in plain),
        "tail": max(float(each.quantile(0.9)) for each in plain),
        "local": sum(float(each.mean()) for each in local) / 2,
        "surface": fit.surface_score if pair.smaller_size > NEIGHBORS else fit.score,
        "shared": float(finish.sampling is Sampling.SHARED),
        "copies": float(finish.sampling is Sampling.COPIES),
    }
    return torch.tensor([values[name] for name in FEATURES], dtype=torch.float64)


def _in_spacings(side: Side) -> Float[Tensor, "N"]:
    """Distances from the points of one cloud to the other in spacings of the other, truncated."""
    return (side.partners.distances / side.fixed.spacing).clamp_max(FARTHEST)


def _in_local_spacings(side: Side) -> Float[Tensor, "N"]:
    """The same, in spacings of the other cloud at that place."""
    return (side.partners.distances / side.fixed.local_spacing[side.partners.indices]).clamp_max(FARTHEST)


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
