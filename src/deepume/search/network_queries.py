"""What the network gives to the default method: poses, a refinement, and how well a pose should fit."""

from __future__ import annotations

import copy
from functools import cache

import torch

from deepume.networks.deepume import DeepUME, DeepUMEConfig
from deepume.networks.loading import load_network, to_double
from deepume.search.pair import CloudPair
from deepume.transform import RigidTransform

NETWORK = "deepume"
"""Name of the weights."""


@torch.inference_mode()
def network_poses(pair: CloudPair) -> RigidTransform:
    """Poses ``(4,)`` from the four proper frames, one pass each: refinement does the rest faster."""
    estimate = _network().hypotheses(pair.source.points, pair.target.points, passes=1)
    return to_double(estimate.target_from_source, pair.source.points)


@torch.inference_mode()
def improve_pose(pair: CloudPair, pose: RigidTransform) -> RigidTransform:
    """One pass of the network from a pose."""
    estimate = _network()(pair.source.points[None], pair.target.points[None], pose[None], passes=1)
    return to_double(estimate.target_from_source[0], pair.source.points)


@torch.inference_mode()
def predict_score(pair: CloudPair, pose: RigidTransform) -> float:
    """What the network expects of a pose: the logarithm of the distance of the surfaces, as if densely sampled.

    The same whoever is called source.
    """
    ordered = pair.ordered
    pose = pose if ordered is pair else pose.inverse()
    estimate = _network()(ordered.source.points[None], ordered.target.points[None], pose[None], passes=1)
    return float(estimate.scores[0])


@cache
def _network() -> DeepUME:
    """In double precision, so that the answer turns with the clouds to rounding."""
    return copy.deepcopy(load_network(DeepUME, DeepUMEConfig, NETWORK, torch.device("cpu"))).double()
