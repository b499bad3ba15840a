"""Methods with trained weights: a network behind the protocol that every method obeys."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache, partial
from typing import TypeVar

import torch

from deepume.hypotheses import axis_exchanges, sign_changes
from deepume.method import Claim, MethodEntry
from deepume.model import DeepUME, DeepUMEConfig, PaperConfig, PaperDeepUME
from deepume.result import Registration
from deepume.rotation import nearest_rotation
from deepume.score import rank_hypotheses
from deepume.transform import RigidTransform
from deepume.types import Source, Target
from deepume.weights import config_of, load_weights, restore_weights

Network = TypeVar("Network", PaperDeepUME, DeepUME)


@dataclass(frozen=True, slots=True)
class PaperNetwork:
    """The paper's network, as released: one pose, from the best of its eight sign patterns."""

    weights: str = "deepume-paper"
    """Name of the weights file."""

    @torch.inference_mode()
    def __call__(self, source: Source, target: Target) -> Registration:
        """The network's answer, without refinement."""
        network = load_network(PaperDeepUME, PaperConfig, self.weights, source.device)
        pose = network(source.float(), target.float()).target_from_source
        return rank_hypotheses(source, target, sharpen(pose, source)[..., None])


@dataclass(frozen=True, slots=True)
class DefaultNetwork:
    """The default network from several proper frames; the best answer is chosen after the network."""

    weights: str = "deepume"
    """Name of the weights file."""
    all_frames: bool = False
    """Start from all 24 proper exchanges of axes instead of the 4 proper signs."""

    @torch.inference_mode()
    def __call__(self, source: Source, target: Target) -> Registration:
        """The best of the network's answers, without refinement."""
        network = load_network(DeepUME, DeepUMEConfig, self.weights, source.device)
        frames = axis_exchanges() if self.all_frames else sign_changes()
        estimate = network.hypotheses(source.float(), target.float(), frames.to(source.device, torch.float32))
        return rank_hypotheses(source, target, sharpen(estimate.target_from_source, source))


def sharpen(pose: RigidTransform, like: Source) -> RigidTransform:
    """The pose in the precision of the clouds, its rotation orthonormal in that precision."""
    return RigidTransform(nearest_rotation(pose.rotation.to(like)), pose.translation.to(like))


@lru_cache(maxsize=8)
def load_network(kind: type[Network], config: type, name: str, device: torch.device) -> Network:
    """A network with published weights, read once."""
    weights = load_weights(name)
    settings = config_of(weights, config)
    network = kind(settings)
    restore_weights(network, settings, weights)
    return network.eval().requires_grad_(False).to(device)


ALWAYS = frozenset({Claim.PROPER, Claim.DETERMINISTIC, Claim.PERMUTATION, Claim.TRANSLATION, Claim.EXACT, Claim.BATCH})

LEARNED = (
    MethodEntry(
        name="deepume-paper",
        summary="the paper's network, trained here",
        make=PaperNetwork,
        claims=ALWAYS,
    ),
    MethodEntry(
        name="deepume",
        summary="the paper's idea scaled: attention, moments, 3 passes from 4 frames",
        make=DefaultNetwork,
        claims=ALWAYS | {Claim.ROTATION},
    ),
    MethodEntry(
        name="deepume-small",
        summary="the same with half the width and half the depth, for CPU",
        make=partial(DefaultNetwork, weights="deepume-small"),
        claims=ALWAYS | {Claim.ROTATION},
    ),
)
"""Promises hold to single precision. The paper's network does not turn with the clouds: its signs are arbitrary."""
