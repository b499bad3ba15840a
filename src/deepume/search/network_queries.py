"""What the network gives to the default method: poses, a refinement, and how well a pose should fit."""

from __future__ import annotations

import copy
from functools import cache

import torch

from deepume.geometry.rotation import nearest_rotation
from deepume.networks.deepume import DeepUME, DeepUMEConfig
from deepume.networks.estimate import Estimate
from deepume.networks.loading import load_network
from deepume.search.pair import CloudPair
from deepume.transform import RigidTransform

NETWORK = "deepume"
"""Name of the weights."""


@torch.inference_mode()
def network_poses(pair: CloudPair) -> RigidTransform:
    """Poses ``(4,)`` from the four proper frames, one pass each: refinement does the rest faster."""
    estimate = _network().hypotheses(*_clouds(pair), passes=1)
    return _to_numpy(estimate.target_from_source)


@torch.inference_mode()
def improve_pose(pair: CloudPair, pose: RigidTransform) -> RigidTransform:
    """One pass of the network from a pose."""
    estimate = _run(pair, pose)
    return _to_numpy(estimate.target_from_source[0])


@torch.inference_mode()
def predict_score(pair: CloudPair, pose: RigidTransform) -> float:
    """What the network expects of a pose: the logarithm of the distance of the surfaces, as if densely sampled.

    The same whoever is called source.
    """
    ordered = pair.ordered
    pose = pose if ordered is pair else pose.inverse()
    estimate = _run(ordered, pose)
    return float(estimate.scores[0])


@cache
def _network() -> DeepUME:
    """In double precision, so that the answer turns with the clouds to rounding."""
    return copy.deepcopy(load_network(DeepUME, DeepUMEConfig, NETWORK, torch.device("cpu"))).double()


def _run(pair: CloudPair, pose: RigidTransform) -> Estimate:
    """One pass from one pose."""
    source, target = _clouds(pair)
    return _network()(source[None], target[None], pose.to(source)[None], passes=1)


def _clouds(pair: CloudPair) -> tuple[torch.Tensor, torch.Tensor]:
    return torch.from_numpy(pair.source.points), torch.from_numpy(pair.target.points)


def _to_numpy(pose: RigidTransform) -> RigidTransform:
    return RigidTransform(nearest_rotation(pose.rotation.numpy()), pose.translation.numpy())
