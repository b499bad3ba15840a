"""The paper's network, exactly as released; its ablations are configurations of it.

``forward`` is the paper's figure: canonical frame, joint resampling, features, moments, rotation, translation.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from deepume.geometry.chamfer import rank_by_chamfer
from deepume.geometry.clouds import center, centroid
from deepume.geometry.frames import Frame, paper_sign_changes
from deepume.geometry.moments import moment_matrix
from deepume.geometry.neighbors import full_precision
from deepume.geometry.rotation import solve_rotation
from deepume.networks.estimate import Estimate, Pair, check_choice, check_positive
from deepume.networks.features import Dgcnn, PointLayer
from deepume.networks.resamplers import PaperResampler
from deepume.transform import Points, Rotations, Source, Target, motion_between, rotation_from_quaternion


class Resampling(StrEnum):
    """Where the paper's transformer acts."""

    COORDINATES = "coordinates"
    FEATURES = "features"
    NONE = "none"


class PaperHead(StrEnum):
    """How the paper's network finds the rotation: its own moments, or the ablation."""

    MOMENTS = "moments"
    MLP = "mlp"


@dataclass(frozen=True, slots=True)
class PaperConfig:
    """Architecture of the paper's network; its ablations are values of this."""

    feature_dim: int = 512
    """Number of invariant features, the rows of the moment matrix."""
    neighbors: int = 20
    """Nearest neighbors per point in the feature graph, the point itself included."""
    preprocessing: bool = True
    """Bring both clouds into their principal frames; otherwise they are only centered."""
    resampling: Resampling | str = Resampling.COORDINATES
    """What the transformer moves: the points, the features (ablation), or nothing."""
    head: PaperHead | str = PaperHead.MOMENTS
    """Rotation from moments, or from a network on pooled features (ablation)."""

    def __post_init__(self):
        check_positive(self, "feature_dim", "neighbors")
        check_choice(self, "resampling", Resampling)
        check_choice(self, "head", PaperHead)


class PaperDeepUME(nn.Module):
    """The network of the released code, kept as it is, with its arbitrary axis signs and eight sign patterns.

    The answer is always a proper rotation. Translating either cloud translates the answer, exactly; permuting points
    changes nothing. Differs from the paper: see ``DISCREPANCIES`` in the docs, rows 13 to 16.
    """

    sign_patterns: Float[Tensor, "8 3"]

    def __init__(self, config: PaperConfig | None = None):
        super().__init__()
        self.config = config = config or PaperConfig()
        self.describe = Dgcnn(config.feature_dim, config.neighbors)
        self.displace = _paper_resampler(config)
        self.turn = _RotationHead(config.feature_dim) if config.head is PaperHead.MLP else None
        patterns = torch.from_numpy(paper_sign_changes()).float().diagonal(dim1=-2, dim2=-1)
        self.register_buffer("sign_patterns", patterns, persistent=False)

    def forward(self, source: Source, target: Target) -> Estimate:
        """Pose of a pair in one pass."""
        frames = self._frames(source, target)
        with full_precision(source):
            canonical = Pair(frames[0].to_local(source), frames[1].to_local(target))
        resampled = self.resample(canonical, Resampling.COORDINATES)
        features = Pair(self.describe(resampled.source), self.describe(resampled.target))
        features = self.resample(features, Resampling.FEATURES)
        with full_precision(source):
            rotation = self._rotation(frames, resampled, features)
            pose = motion_between(frames[0].centroid, frames[1].centroid, rotation)
        return Estimate((pose,), canonical, resampled)

    @torch.no_grad()
    def _frames(self, source: Source, target: Target) -> tuple[Frame, Frame]:
        """Principal frames, the target's with the signs for which the clouds are closest; or bare centroids."""
        with full_precision(source):
            if not self.config.preprocessing:
                return _centered_frame(source), _centered_frame(target)
            source_frame, target_frame = _released_frame(source), _released_frame(target)
            patterns = self.sign_patterns.to(source)
            candidates = target_frame.to_local(target).unsqueeze(-3) * patterns.unsqueeze(-2)
            distances = rank_by_chamfer(source_frame.to_local(source).unsqueeze(-3), candidates)
            refused = self._refused(source_frame, target_frame, patterns)
            signs = patterns[distances.masked_fill(refused, torch.inf).argmin(-1)]
            return source_frame, target_frame._replace(axes=target_frame.axes * signs.unsqueeze(-2))

    def _refused(self, source: Frame, target: Frame, patterns: Float[Tensor, "8 3"]) -> Bool[Tensor, "*batch 8"]:
        """Sign patterns that are not tried: as released, none."""
        return torch.zeros(*target.centroid.shape[:-1], len(patterns), dtype=torch.bool, device=patterns.device)

    def resample(self, pair: Pair, space: Resampling) -> Pair:
        """``C + phi(C, C_other)`` for both clouds, if this is the space in which the network resamples."""
        if self.displace is None or self.config.resampling is not space:
            return pair
        source, target = pair
        return pair.move(self.displace(source, target), self.displace(target, source))

    def _rotation(self, frames: tuple[Frame, Frame], resampled: Pair, features: Pair) -> Rotations:
        if self.turn is not None:
            return _compose_proper(frames, self.turn(features))
        moments = (
            moment_matrix(center(cloud.to(frame.axes) @ frame.axes.mT), rows.to(frame.axes))
            for frame, cloud, rows in zip(frames, resampled, features, strict=True)
        )
        return solve_rotation(*(rows - rows.mean(-2, keepdim=True) for rows in moments))


class ProperPaperDeepUME(PaperDeepUME):
    """The same without mirrored frames, four sign patterns instead of eight: what mirrors cost can be measured."""

    def _refused(self, source: Frame, target: Frame, patterns: Float[Tensor, "8 3"]) -> Bool[Tensor, "*batch 8"]:
        """Those that would leave a mirror between the frames."""
        handedness = (torch.linalg.det(source.axes) * torch.linalg.det(target.axes)).unsqueeze(-1)
        return handedness * patterns.prod(-1) < 0


class _RotationHead(nn.Module):
    """The ablation's head: features of both clouds, pooled by maximum, to a quaternion."""

    def __init__(self, features: int):
        super().__init__()
        self.layers = nn.Sequential(PointLayer(2 * features, 256), PointLayer(256, 128), PointLayer(128, 64))
        self.quaternion = nn.Linear(64, 4)

    def forward(self, features: Pair) -> Rotations:
        """Rotation between the two canonical clouds."""
        pooled = torch.cat([rows.amax(-2) for rows in features], -1)
        return rotation_from_quaternion(self.quaternion(self.layers(pooled.to(self.quaternion.weight))))


def _paper_resampler(config: PaperConfig) -> PaperResampler | None:
    if config.resampling is Resampling.FEATURES:
        return PaperResampler(config.feature_dim, heads=4, hidden=1024)
    return PaperResampler() if config.resampling is Resampling.COORDINATES else None


def _centered_frame(points: Points) -> Frame:
    origin = centroid(points)
    axes = torch.eye(3, dtype=points.dtype, device=points.device).expand(*points.shape[:-2], 3, 3)
    return Frame(axes, origin, torch.ones_like(origin))


def _released_frame(points: Points) -> Frame:
    """Principal axes smallest variance first, with whatever signs the eigensolver gives, proper or not."""
    offsets = center(points)
    variances, axes = torch.linalg.eigh(offsets.mT @ offsets / (points.shape[-2] - 1))
    return Frame(axes, centroid(points), variances)


def _compose_proper(frames: tuple[Frame, Frame], rotation: Rotations) -> Rotations:
    """Rotation between the clouds from that between their frames; a mirrored target frame is mirrored back."""
    source, target = frames[0].axes, frames[1].axes
    handedness = (torch.linalg.det(source) * torch.linalg.det(target)).sign()
    signs = torch.stack([handedness, torch.ones_like(handedness), torch.ones_like(handedness)], -1)
    return (target * signs.unsqueeze(-2)) @ rotation.to(source) @ source.mT
