"""Probability that a pose is right, from what is known without the truth, by a small fitted model."""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files

import torch
from jaxtyping import Float
from torch import Tensor


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
