"""Probability that a pose is right, from what is known without the truth, by a small fitted model: boosted trees."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

LEAF = -1
"""In place of a feature: the node is a leaf."""


class Trees(NamedTuple):
    """All trees of a model, node by node: each from its root downwards, the left branch of a node right behind it."""

    roots: Int[np.ndarray, "T"]
    """Where the trees begin."""
    feature: Int[np.ndarray, "K"]
    """Which feature decides at a node; :data:`LEAF` at a leaf."""
    number: Float[np.ndarray, "K"]
    """Up to what value of the feature the way goes left; at a leaf, its log odds."""
    right: Int[np.ndarray, "K"]
    """The node to the right; a leaf is its own."""
    depth: int
    """Decisions on the longest way to a leaf."""


def probability(features: Float[np.ndarray, "*batch F"], model: Trees | None = None) -> Float[np.ndarray, "*batch"]:
    """Probability of being right: the log odds that all trees add up to."""
    trees = model or load_model()
    rows = features.reshape(-1, features.shape[-1])
    node, each = trees.roots[None], np.arange(len(rows))[:, None]
    for _ in range(trees.depth):
        feature = trees.feature[node]
        goes_left = (feature != LEAF) & (rows[each, feature] <= trees.number[node])
        node = np.where(goes_left, node + 1, trees.right[node])
    log_odds = trees.number[np.broadcast_to(node, (len(rows), len(trees.roots)))].sum(-1)
    return np.exp(-np.logaddexp(0, -log_odds)).reshape(features.shape[:-1])


def make_trees(feature: Sequence[int], number: Sequence[float]) -> Trees:
    """The model of these nodes: behind a leaf comes the right branch of the last node that has none, or a new tree."""
    roots, right, depth = [0], list(range(len(feature))), [0] * len(feature)
    waiting: list[int] = []
    for node, which in enumerate(feature):
        if which != LEAF:
            waiting.append(node)
            depth[node + 1] = depth[node] + 1
        elif waiting:
            parent = waiting.pop()
            right[parent], depth[node + 1] = node + 1, depth[parent] + 1
        elif node + 1 < len(feature):
            roots.append(node + 1)
    return Trees(
        roots=np.array(roots),
        feature=np.array(feature),
        number=np.array(number, dtype=np.float64),
        right=np.array(right),
        depth=max(depth),
    )


@cache
def load_model() -> Trees:
    """The fitted model, read once."""
    stored = json.loads((files("deepume.search.judgement") / "confidence.json").read_text())
    return make_trees(**stored["trees"])
