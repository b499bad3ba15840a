"""Probability that a pose is right, from what is known without the truth, by a small fitted model."""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files

import torch
from jaxtyping import Float
from torch import Tensor

from deepume.auto.finish import Sampling
from deepume.auto.prepared import PreparedPair
from deepume.distances import nearest
from deepume.transform import RigidTransform

FEATURES = ("score", "excess", "lead", "size", "overlap", "tail", "shared", "copies")
"""What the model sees of a pair."""
LEAD_LIMIT = 1.0
"""A lead larger than this is no surer."""
OVERLAP_DISTANCE = 2.0
"""A point with a partner within this many spacings is covered by the other cloud."""


def describe_fit(
    pair: PreparedPair, pose: RigidTransform, sampling: Sampling, rival_score: float | None
) -> Float[Tensor, "F"]:
    """The features of a pose; ``rival_score`` is that of the best rival that symmetry does not explain, if any."""
    score, forward, backward = _distances(pair, pose)
    covered = torch.stack([(each < OVERLAP_DISTANCE).double().mean() for each in (forward, backward)])
    tail = torch.stack([each.quantile(0.9) for each in (forward, backward)])
    lead = LEAD_LIMIT if rival_score is None else min(LEAD_LIMIT, rival_score / max(score, 1e-6) - 1)
    values = (
        min(score, 4.0),
        max(-5.0, min(20.0, (score - 1) / pair.chance)) / 5,
        lead,
        torch.tensor(float(pair.smaller_size)).log2().item() / 10,
        float(covered.min()),
        min(4.0, float(tail.max())),
        float(sampling is Sampling.SHARED),
        float(sampling is Sampling.COPIES),
    )
    return torch.tensor(values, dtype=torch.float64)


def _distances(pair: PreparedPair, pose: RigidTransform) -> tuple[float, Tensor, Tensor]:
    forward = nearest(pose.apply(pair.source.points), pair.target.points).distances / pair.target.spacing
    backward = nearest(pose.inverse().apply(pair.target.points), pair.source.points).distances / pair.source.spacing
    score = (forward.clamp_max(4).mean() + backward.clamp_max(4).mean()) / 2
    return float(score), forward, backward


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
