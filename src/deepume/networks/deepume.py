"""The default network: the paper's idea scaled (described points, attention, proper frames, several passes).

``forward`` is still the paper's figure: canonical frame, joint resampling, features, moments, rotation, translation.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from deepume.geometry.chamfer import rank_by_chamfer
from deepume.geometry.clouds import centroid
from deepume.geometry.frames import frame_poses, principal_frame, sign_changes
from deepume.geometry.neighbors import full_precision
from deepume.geometry.rotation import nearest_rotation
from deepume.networks.estimate import (
    CommonFrame,
    Estimate,
    Fit,
    Pair,
    check_choice,
    check_positive,
    compose,
    detach,
)
from deepume.networks.heads import fit_displacement, fit_moments
from deepume.networks.paper import PaperConfig, PaperDeepUME, PaperHead, Resampling
from deepume.networks.resamplers import AttentionResampler, Resampled
from deepume.transform import RigidTransform, Source, Target, motion_between, rigid_motion

__all__ = [
    "DeepUME",
    "DeepUMEConfig",
    "Estimate",
    "Head",
    "Pair",
    "PaperConfig",
    "PaperDeepUME",
    "PaperHead",
    "Resampling",
]


class Head(StrEnum):
    """How a pass finds its motion."""

    MOMENTS = "moments"
    DISPLACEMENT = "displacement"


@dataclass(frozen=True, slots=True)
class DeepUMEConfig:
    """Architecture of the default network; stored inside every weights file."""

    width: int = 128
    """Size of the token of a point."""
    blocks: int = 3
    """Blocks of self- and cross-attention."""
    heads: int = 2
    """Attention heads; they divide the width."""
    features: int = 128
    """Number of invariant features, the rows of the moment matrix."""
    neighbors: int = 12
    """Nearest points of the own cloud that a token starts from, the point itself included."""
    cross_neighbors: int = 8
    """Nearest points of the other cloud that a token starts from."""
    passes: int = 3
    """Times the network is applied, each time from the pose it found before."""
    head: Head | str = Head.DISPLACEMENT
    """Motion from the displacements taken as correspondences, or from moments of the resampled clouds."""

    def __post_init__(self):
        check_positive(self, "width", "blocks", "heads", "features", "neighbors", "cross_neighbors", "passes")
        check_choice(self, "head", Head)
        if self.width % (2 * self.heads):
            raise ValueError(f"width must be a multiple of twice the heads, got {self.width} and {self.heads} heads.")

    @classmethod
    def small(cls) -> DeepUMEConfig:
        """Half the width, one block and a few neighbors less, for CPU."""
        return cls(width=64, blocks=2, heads=1, features=64, cross_neighbors=6)


class DeepUME(nn.Module):
    """The paper's idea scaled: one common frame, attention between described points, moments, several passes.

    Rotating, translating or permuting either cloud, or scaling both, changes the answer accordingly and nothing
    else, as far as the source's principal frame is determined. Identical clouds with the identity to start from
    give the identity. Sizes may differ.

    Differs from the paper: proper frames with signs that turn with the cloud, described points instead of bare
    coordinates, passes with shared weights, translation from the resampled means, no mean removed over the moments.
    """

    sign_changes: Float[Tensor, "4 3 3"]

    def __init__(self, config: DeepUMEConfig | None = None):
        super().__init__()
        self.config = config = config or DeepUMEConfig()
        self.resample = AttentionResampler(
            config.width, config.heads, config.blocks, config.features, config.neighbors, config.cross_neighbors
        )
        self.predict_score = nn.Sequential(
            nn.Linear(4 * config.width, config.width), nn.GELU(), nn.Linear(config.width, 1)
        )
        self.fit = fit_moments if config.head is Head.MOMENTS else fit_displacement
        self.register_buffer("sign_changes", torch.from_numpy(sign_changes()).float(), persistent=False)

    def forward(
        self,
        source: Source,
        target: Target,
        initial: RigidTransform | None = None,
        *,
        passes: int | None = None,
        exchange: Float[Tensor, "*#batch 3 3"] | None = None,
    ) -> Estimate:
        """Pose of a pair, improved from ``initial``; by default from the proper frame of least Chamfer distance.

        ``exchange`` turns the common frame: training shows the network every sign of its axes.
        """
        if initial is None:
            initial = nearest_frame_pose(source, target, self.sign_changes)
        return self._improve(self._see(source, target, exchange), initial, passes or self.config.passes)

    def hypotheses(
        self,
        source: Source,
        target: Target,
        exchanges: Float[Tensor, "K 3 3"] | None = None,
        *,
        passes: int | None = None,
    ) -> Estimate:
        """Poses ``(*batch, K)`` and their scores from all frames, by default the four proper ones, as one batch."""
        frames = self.sign_changes if exchanges is None else exchanges
        return self.improve(source, target, principal_poses(source, target, frames), passes=passes)

    def improve(
        self, source: Source, target: Target, initial: RigidTransform, *, passes: int | None = None
    ) -> Estimate:
        """Poses ``(*batch, K)`` and their scores from as many poses of each pair, as one batch."""
        seen = self._see(source, target).repeat(initial.rotation.shape[-3])
        return self._improve(seen, initial, passes or self.config.passes)

    def average_signs(self, source: Source, target: Target, pose: RigidTransform) -> RigidTransform:
        """The pose after one more pass: the mean of its answers in each of the source's four proper frames.

        The signs of a frame are a convention, so the part of an answer that depends on them is error; it averages out.
        """
        seen = self._see(source, target).repeat(len(self.sign_changes))
        one, signs = seen.frame, self.sign_changes.to(source)
        turned = one._replace(source=one.source @ signs, axes=one.axes @ signs)
        poses = self._improve(seen._replace(frame=turned), pose[..., None], 1).target_from_source
        with full_precision(source):
            middle = centroid(source)
            images = poses.apply(middle[..., None, None, :]).squeeze(-2)
            return motion_between(middle, images.mean(-2), nearest_rotation(poses.rotation.mean(-3)))

    @torch.no_grad()
    def describe(self, source: Source, target: Target, target_from_source: RigidTransform) -> Pair:
        """Features of both clouds, the weights of the moments, as a pass that starts from this pose sees them."""
        seen = self._see(source, target)
        with full_precision(source):
            canonical = seen.frame.clouds(seen.frame.enter(target_from_source))
        of_source, of_target = self.resample(*canonical, seen.source_graph, seen.target_graph)
        return Pair(of_source.features, of_target.features)

    @torch.no_grad()
    def _see(self, source: Source, target: Target, exchange: Float[Tensor, "*#batch 3 3"] | None = None) -> SeenPair:
        """The pair in its common frame, with its graphs."""
        with full_precision(source):
            frame = CommonFrame.around(source, target, None if exchange is None else exchange.to(source))
            return SeenPair(frame, self.resample.graph(source), self.resample.graph(target))

    def _improve(self, seen: SeenPair, initial: RigidTransform, passes: int) -> Estimate:
        """All passes; no gradient runs from one into the one before, so each learns from its own answer."""
        with full_precision(seen.frame.source):
            start = seen.frame.enter(initial)
        steps = [self._step(seen, start)]
        for _ in range(passes - 1):
            steps.append(self._step(seen, detach(steps[-1].pose)))
        with full_precision(seen.frame.source):
            poses = tuple(seen.frame.leave(step.pose) for step in steps)
        return Estimate(poses, steps[-1].canonical, steps[-1].resampled, tuple(step.score for step in steps))

    def _step(self, seen: SeenPair, pose: RigidTransform) -> Step:
        """One pass: both clouds in one frame, joint resampling and features, moments, rotation, translation."""
        with full_precision(seen.frame.source):
            canonical = seen.frame.clouds(pose)
        of_source, of_target = self.resample(*canonical, seen.source_graph, seen.target_graph)
        reading = self.read(canonical, of_source, of_target)
        with full_precision(seen.frame.source):
            improved = compose(pose, reading.fit.motion())
        return Step(improved, reading.score, canonical, reading.resampled)

    def read(self, canonical: Pair, of_source: Resampled, of_target: Resampled) -> Reading:
        """What a pass ends with, before the closed form."""
        with full_precision(canonical.source):
            resampled = canonical.move(of_source.displacement, of_target.displacement)
            features = Pair(of_source.features.to(canonical.source), of_target.features.to(canonical.source))
            fit = self.fit(canonical, resampled, features)
        score = self.predict_score(torch.cat([of_source.pooled, of_target.pooled], -1))
        return Reading(fit, score.squeeze(-1), resampled)


class Reading(NamedTuple):
    """What the weights say of a pair in a common frame."""

    fit: Fit
    """Sums that determine the motion from one cloud to the other."""
    score: Float[Tensor, "*batch"]
    """How well the clouds should fit as they are."""
    resampled: Pair


class Step(NamedTuple):
    """One pass: the pose it found, the score of the pose it started from, and the clouds it saw and made."""

    pose: RigidTransform
    score: Float[Tensor, "*batch"]
    canonical: Pair
    resampled: Pair


class SeenPair(NamedTuple):
    """A pair in its common frame, with the nearest neighbors of all points, which no pose changes."""

    frame: CommonFrame
    source_graph: Int[Tensor, "*batch N k"]
    target_graph: Int[Tensor, "*batch M l"]

    def repeat(self, count: int) -> SeenPair:
        """The same ``count`` times along a new last batch axis."""
        batch = self.frame.size.shape
        graphs = (self.source_graph, self.target_graph)
        repeated = (each.unsqueeze(-3).expand(*batch, count, *each.shape[-2:]) for each in graphs)
        return SeenPair(self.frame.repeat(count), *repeated)


@torch.no_grad()
def principal_poses(source: Source, target: Target, exchanges: Float[Tensor, "K 3 3"]) -> RigidTransform:
    """Poses ``(*batch, K)`` that lay the source's principal frame on the target's, up to each exchange of axes."""
    with full_precision(source):
        return frame_poses(principal_frame(source), principal_frame(target), exchanges)


@torch.no_grad()
def nearest_frame_pose(source: Source, target: Target, exchanges: Float[Tensor, "K 3 3"]) -> RigidTransform:
    """The one of :func:`principal_poses` with the least Chamfer distance."""
    poses = principal_poses(source, target, exchanges)
    with full_precision(source):
        moved = poses.apply(source.unsqueeze(-3))
    best = rank_by_chamfer(moved, target.unsqueeze(-3)).argmin(-1)
    rotation = torch.take_along_dim(poses.rotation, best[..., None, None, None], -3).squeeze(-3)
    translation = torch.take_along_dim(poses.translation, best[..., None, None], -2).squeeze(-2)
    return rigid_motion(rotation, translation)
