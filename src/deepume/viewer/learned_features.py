"""The learned features of a pair, for people to look at."""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor

from deepume.geometry.clouds import subsample_random
from deepume.geometry.neighbors import nearest
from deepume.methods.learned import load_network
from deepume.networks.deepume import DeepUME, DeepUMEConfig, Pair
from deepume.transform import RigidTransform
from deepume.viewer.scene import Scene

DESCRIBED_POINTS = 2048
"""Attention is quadratic in the points: of larger clouds this many are described, the others copy the nearest."""


def feature_count() -> int:
    """Channels of the learned features."""
    return _network().config.features


def learned_features(scene: Scene, target_from_source: RigidTransform) -> Pair:
    """Features of the shown points of both clouds by the default network, as seen from a pose."""
    place = scene.place(target_from_source)
    # The network knows rigid motions only: if the pose has a scale, the source comes in its final size.
    source, target = float(place.scale) * scene.local_source, scene.scene_target
    few, few_fixed = (_described(cloud).float() for cloud in (source, target))
    features = _network().describe(few, few_fixed, RigidTransform(place.rotation, place.translation))
    return Pair(_spread(few, features.source, source), _spread(few_fixed, features.target, target))


def _network() -> DeepUME:
    return load_network(DeepUME, DeepUMEConfig, "deepume", torch.device("cpu"))


def _described(cloud: Float[Tensor, "N 3"]) -> Float[Tensor, "K 3"]:
    if len(cloud) <= DESCRIBED_POINTS:
        return cloud
    return subsample_random(cloud, DESCRIBED_POINTS, generator=torch.Generator().manual_seed(0))


def _spread(few: Float[Tensor, "K 3"], features: Float[Tensor, "K C"], cloud: Float[Tensor, "N 3"]) -> Tensor:
    """To each point, the features of the described point nearest to it."""
    return features[nearest(cloud.float(), few).indices]
