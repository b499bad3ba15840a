"""Networks with published weights behind the protocol that every method obeys."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TypeVar

import torch
from jaxtyping import Float
from torch import Tensor, nn

from deepume.alignment.ranking import rank_hypotheses
from deepume.geometry.clouds import subsample_farthest
from deepume.geometry.rotation import nearest_rotation
from deepume.geometry.unit_sphere import to_unit_pair
from deepume.networks.published_files import WeightsError, is_path, why_missing
from deepume.networks.weights_files import config_of, load_weights, restore_weights
from deepume.result import Registration
from deepume.transform import Points, RigidTransform, Source, Target

Network = TypeVar("Network", bound=nn.Module)


@dataclass(frozen=True, slots=True)
class NetworkMethod:
    """A network whose answer is one pose: its ``target_from_source`` for the pair, unchanged."""

    network: type[nn.Module]
    """Built from a configuration; called with both clouds."""
    config: type
    """Its configuration, which the weights file holds."""
    weights: str
    """Name of the published weights, or the path of a file."""
    most_points: int | None = None
    """Larger clouds are thinned to this many points, evenly spread; None: they are not thinned."""
    in_unit_sphere: bool = False
    """Show the network every pair in the unit sphere, where it was trained; some networks do so themselves."""

    @torch.inference_mode()
    def __call__(self, source: Source, target: Target) -> Registration:
        """The network's answer, without refinement. Networks compute in single precision."""
        network = load_network(self.network, self.config, self.weights, source.device)
        moving, fixed = self._thin(source.float()), self._thin(target.float())
        solve = _solve_in_unit_sphere if self.in_unit_sphere else _solve
        pose = solve(network, moving, fixed)
        return rank_hypotheses(source, target, to_double(pose, source)[..., None])

    def _thin(self, points: Points) -> Float[Tensor, "*batch K 3"]:
        return points if self.most_points is None else subsample_farthest(points, self.most_points)


def _solve(network: nn.Module, source: Source, target: Target) -> RigidTransform:
    return network(source, target).target_from_source


def _solve_in_unit_sphere(network: nn.Module, source: Source, target: Target) -> RigidTransform:
    pair = to_unit_pair(source, target)
    return pair.restore(_solve(network, pair.source, pair.target))


@lru_cache(maxsize=8)
def load_network(kind: type[Network], config: type, name: str, device: torch.device) -> Network:
    """A network with published weights, or with those of a file, read once."""
    reason = None if is_path(name) else why_missing(name)
    if reason is not None:
        raise WeightsError(reason)
    weights = load_weights(name)
    settings = config_of(weights, config)
    network = kind(settings)
    restore_weights(network, settings, weights)
    return network.eval().requires_grad_(False).to(device)


def to_double(pose: RigidTransform, like: Source) -> RigidTransform:
    """The pose in the precision of the clouds, usually double, its rotation orthonormal in that precision."""
    return RigidTransform(nearest_rotation(pose.rotation.to(like)), pose.translation.to(like))
