"""The networks of this project, trained, as methods."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import torch

from deepume.hypotheses import axis_exchanges, sign_changes
from deepume.method import Claim, MethodEntry
from deepume.model import DeepUME, DeepUMEConfig, PaperConfig, PaperDeepUME
from deepume.pretrained import NetworkMethod, load_network, sharpen
from deepume.result import Registration
from deepume.score import rank_hypotheses
from deepume.types import Source, Target


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


ALWAYS = frozenset({Claim.PROPER, Claim.DETERMINISTIC, Claim.PERMUTATION, Claim.TRANSLATION, Claim.EXACT, Claim.BATCH})

LEARNED = (
    MethodEntry(
        name="deepume-paper",
        summary="the paper's network, trained here",
        make=lambda: NetworkMethod(PaperDeepUME, PaperConfig, "deepume-paper"),
        claims=ALWAYS,
        weights="deepume-paper",
    ),
    MethodEntry(
        name="deepume",
        summary="the paper's idea scaled: attention, 3 passes from 4 frames",
        make=DefaultNetwork,
        claims=ALWAYS | {Claim.ROTATION},
        weights="deepume",
    ),
    MethodEntry(
        name="deepume-small",
        summary="the same with half the width and one block less, for CPU",
        make=partial(DefaultNetwork, weights="deepume-small"),
        claims=ALWAYS | {Claim.ROTATION},
        weights="deepume-small",
    ),
)
"""Promises hold to single precision. The paper's network does not turn with the clouds: its signs are arbitrary."""
