"""The network inside the default method: hypotheses of its own, and the last refinement of sparse clouds."""

from __future__ import annotations

import copy
from functools import cache

import torch

from deepume.alignment.indexed_pair import PreparedPair
from deepume.networks.deepume import DeepUME, DeepUMEConfig
from deepume.networks.loading import load_network, sharpen
from deepume.search.pair import must_swap
from deepume.transform import RigidTransform

NETWORK = "deepume"
"""Name of the weights."""


@torch.inference_mode()
def network_poses(pair: PreparedPair) -> RigidTransform:
    """Poses ``(4,)`` from the four proper frames, one pass each: refinement does the rest faster."""
    estimate = _network().hypotheses(pair.source.points, pair.target.points, passes=1)
    return sharpen(estimate.target_from_source, pair.source.points)


@torch.inference_mode()
def improve_pose(pair: PreparedPair, pose: RigidTransform) -> RigidTransform:
    """One pass of the network from a pose."""
    estimate = _network()(pair.source.points[None], pair.target.points[None], pose[None], passes=1)
    return sharpen(estimate.target_from_source[0], pair.source.points)


@torch.inference_mode()
def predict_score(pair: PreparedPair, pose: RigidTransform) -> float:
    """What the network expects of a pose: the logarithm of how far it leaves the surfaces apart, as if densely sampled.

    The same whoever is called source.
    """
    if must_swap(pair):
        pair, pose = pair.swapped(), pose.inverse()
    estimate = _network()(pair.source.points[None], pair.target.points[None], pose[None], passes=1)
    return float(estimate.scores[0])


@cache
def _network() -> DeepUME:
    """In double precision, so that the answer turns with the clouds to rounding."""
    return copy.deepcopy(load_network(DeepUME, DeepUMEConfig, NETWORK, torch.device("cpu"))).double()
