"""The networks of this project, trained, as methods."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import torch

from deepume.alignment.noisy_copies import refine_copy
from deepume.alignment.ranking import best_distinct, is_distinct, rank_hypotheses
from deepume.alignment.score import chance_of, explains_as_well, score_poses
from deepume.arrays import as_like
from deepume.geometry.clouds import subsample_farthest
from deepume.geometry.frames import axis_exchanges
from deepume.methods.entry import Claim, MethodEntry
from deepume.networks.deepume import DeepUME, DeepUMEConfig, PaperConfig, PaperDeepUME, principal_poses
from deepume.networks.loading import NetworkMethod, load_network, to_double
from deepume.result import Registration
from deepume.transform import RigidTransform, Source, Target

COARSE_POINTS = 128
"""Evenly spread points on which all frames are tried: a pass costs a tenth of what it costs on 1,024."""
COARSE_PASSES = 2
FINALISTS = 2
"""Poses from which the network goes on with all points."""


@dataclass(frozen=True, slots=True)
class DefaultNetwork:
    """The default network from all proper frames; the best answer is chosen after the network.

    Where the target turns out to be a noisy copy of the source, the final pose averages the network's answer and that
    of the moments of both clouds, weighted by precision.
    """

    weights: str = "deepume"
    """Name of the weights file."""

    @torch.inference_mode()
    def __call__(self, source: Source, target: Target) -> Registration:
        """The best of the network's answers, without refinement."""
        network = load_network(DeepUME, DeepUMEConfig, self.weights, source.device)
        found = search_frames(network, source.float(), target.float())
        best = best_distinct(found, score_poses(source.float(), target.float(), found), 1)[..., 0]
        averaged = to_double(network.average_signs(source.float(), target.float(), best), source)
        poses = RigidTransform.concatenate([to_double(found, source), averaged[..., None]])
        return rank_hypotheses(source, target, refine_copies(source, target, poses, averaged))


def refine_copies(source: Source, target: Target, poses: RigidTransform, averaged: RigidTransform) -> RigidTransform:
    """Poses ``(*batch, K)``; of noisy copies, all that refine the averaged one are replaced by what moments make of it.

    Among refinements of one pose the score would choose the one that fits the noise.
    """
    copy = refine_copy(source, target, averaged)
    pair = RigidTransform.stack([averaged, copy.pose.to(source)])
    fits = explains_as_well(score_poses(source, target, pair), chance_of(source.shape[-2] + target.shape[-2]))[..., 1]
    replaced = (copy.believed & fits)[..., None] & ~is_distinct(poses, averaged[..., None])
    return RigidTransform.where(replaced, pair[..., 1:], poses)


def search_frames(network: DeepUME, source: Source, target: Target) -> RigidTransform:
    """Poses ``(*batch, 2)`` after all passes from what fits best: 24 frames tried on few points, four as they are.

    Points spread evenly have truer frames than points that crowd on one side, and of 24 frames one is near even so;
    where both clouds hold the same points, though, nothing is as near as the frames of all of them.
    """
    few = subsample_farthest(source, COARSE_POINTS), subsample_farthest(target, COARSE_POINTS)
    tried = network.hypotheses(*few, as_like(axis_exchanges(), source), passes=COARSE_PASSES).target_from_source
    tried = best_distinct(tried, score_poses(*few, tried), 2 * FINALISTS)
    starts = RigidTransform.concatenate([tried, principal_poses(source, target, network.sign_changes)])
    starts = best_distinct(starts, score_poses(source, target, starts), FINALISTS)
    return network.improve(source, target, starts).target_from_source


def paper_method(weights: str) -> NetworkMethod:
    """The paper's network, or one of its ablations, by the name of its weights.

    Differs from the released code: it sees every pair in the unit sphere, as in training, whatever the unit.
    """
    return NetworkMethod(PaperDeepUME, PaperConfig, weights, in_unit_sphere=True)


ALWAYS = frozenset({Claim.PROPER, Claim.DETERMINISTIC, Claim.PERMUTATION, Claim.TRANSLATION, Claim.EXACT, Claim.BATCH})

LEARNED = (
    MethodEntry(
        name="deepume-paper",
        summary="the paper's network, trained here",
        make=partial(paper_method, "deepume-paper"),
        claims=ALWAYS,
        weights="deepume-paper",
    ),
    MethodEntry(
        name="deepume",
        summary="the paper's idea scaled: attention, 24 frames, 3 passes",
        make=DefaultNetwork,
        claims=ALWAYS | {Claim.ROTATION},
        weights="deepume",
    ),
    MethodEntry(
        name="deepume-small",
        summary="the same with half the width, fewer blocks and neighbors, for CPU",
        make=partial(DefaultNetwork, weights="deepume-small"),
        claims=ALWAYS | {Claim.ROTATION},
        weights="deepume-small",
    ),
)
"""Promises hold to single precision. The paper's network does not turn with the clouds: its signs are arbitrary."""
