"""PointNetLK (Aoki et al., CVPR 2019): Lucas-Kanade on one feature vector of each cloud.

Written from the published description; no code of the authors is used.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.functional import linear

from deepume.geometry.neighbors import full_precision
from deepume.geometry.unit_sphere import UnitPair, to_unit_pair
from deepume.networks.estimate import check_positive, compose
from deepume.networks.features import PointLayer
from deepume.transform import Points, RigidTransform, Source, Target, rigid_motion, rotation_from_quaternion

Feature = Float[Tensor, "*batch K"]
Jacobian = Float[Tensor, "*batch K 6"]

DAMPING = 1e-6
"""Added to the normal equations, relative to their mean diagonal: features may not see some motion at all."""


@dataclass(frozen=True, slots=True)
class PointNetLKConfig:
    """Architecture of PointNetLK; as published."""

    widths: tuple[int, ...] = (64, 64, 64, 128, 1024)
    """Channels after each layer; the last is the size of the feature vector."""
    iterations: int = 10
    """Steps of Lucas-Kanade."""
    step: float = 1e-2
    """Length of the twists whose finite differences make the Jacobian."""

    def __post_init__(self):
        check_positive(self, "iterations")


class Alignment(NamedTuple):
    """What PointNetLK says of a pair."""

    target_from_source: RigidTransform
    residual: Feature
    """Feature of the moved source minus that of the target, before the last step."""


class PointNetLK(nn.Module):
    """Moves the source until its feature vector is the target's: Gauss-Newton, inverse compositional.

    The Jacobian is that of the target and made once. A local method: it answers for some 45 degrees. Permuting the
    points changes nothing; sizes may differ; swapping the clouds does not invert the answer.

    Differs from the original: both clouds are brought into one unit sphere, not only centered; a step turns and then
    shifts, which equals the exponential of its twist to first order and does not make a GPU wait.
    """

    def __init__(self, config: PointNetLKConfig | None = None):
        super().__init__()
        self.config = config = config or PointNetLKConfig()
        self.describe = PointNet(config.widths)

    def forward(self, source: Source, target: Target) -> Alignment:
        """Pose of a pair. Features are differences of close numbers: they are never made in half precision."""
        with full_precision(source):
            pair = to_unit_pair(source, target)
            if self.training:
                self._observe(pair)
            return self._align(pair)

    @torch.no_grad()
    def _observe(self, pair: UnitPair) -> None:
        """Let the batch norms see both clouds; all that follows uses what they have learned so far."""
        self.describe(pair.target)
        self.describe(pair.source)

    def _align(self, pair: UnitPair) -> Alignment:
        goal = self.describe.frozen(pair.target)
        solve = _normal_solver(self._jacobian(pair.target, goal))
        pose = _small_motion(torch.zeros_like(goal[..., :6]))
        residual = goal
        for _ in range(self.config.iterations):
            residual = self.describe.frozen(_moved(pair.source, pose)) - goal
            pose = compose(_small_motion(-(solve @ residual.unsqueeze(-1)).squeeze(-1)), pose)
        return Alignment(pair.restore(pose), residual)

    def _jacobian(self, target: Target, goal: Feature) -> Jacobian:
        """Change of the target's feature with each of six small motions, by one-sided differences."""
        step = self.config.step
        twists = -step * torch.eye(6, dtype=target.dtype, device=target.device)
        moved = _moved(target.unsqueeze(-3), _small_motion(twists))
        return (goal.unsqueeze(-2) - self.describe.frozen(moved)).mT / step


class PointNet(nn.Module):
    """One map for every point, then the maximum over the points: a cloud as one vector."""

    def __init__(self, widths: tuple[int, ...]):
        super().__init__()
        self.layers = nn.ModuleList(PointLayer(*pair) for pair in zip((3, *widths[:-1]), widths, strict=True))

    def forward(self, points: Points) -> Feature:
        """Feature by the statistics of the batch while training."""
        rows = points
        for layer in self.layers:
            rows = layer(rows)
        return rows.amax(-2)

    def frozen(self, points: Points) -> Feature:
        """Feature by the learned statistics, while training too.

        Differences between features of moved clouds mean nothing if each is normalized by its own batch.
        """
        *early, (weight, bias) = (layer.folded() for layer in self.layers)  # pyright: ignore[reportCallIssue]
        rows = points
        for maps in early:
            rows = linear(rows, *maps).relu()
        # ReLU keeps order, so it may follow the maximum; backward of max is one scatter.
        return (linear(rows, weight).max(-2).values + bias).relu()


def _normal_solver(jacobian: Jacobian) -> Float[Tensor, "*batch 6 K"]:
    """The pseudo-inverse of the Jacobian, damped."""
    normal = jacobian.mT @ jacobian
    mean = normal.diagonal(dim1=-2, dim2=-1).mean(-1).clamp_min(torch.finfo(normal.dtype).tiny ** 0.5)
    eye = torch.eye(6, dtype=normal.dtype, device=normal.device)
    # The checked solver would wait for the GPU; the damping makes the matrix regular.
    return torch.linalg.solve_ex(normal + DAMPING * mean[..., None, None] * eye, jacobian.mT).result


def _small_motion(twist: Float[Tensor, "*batch 6"]) -> RigidTransform:
    """Turn by the first three numbers of the twist (a rotation vector), then shift by the last three.

    The turn is made by a quaternion: a GPU would wait for a matrix exponential.
    """
    vector, shift = twist[..., :3], twist[..., 3:]
    half = (vector.square().sum(-1, keepdim=True) + torch.finfo(vector.dtype).tiny).sqrt() / 2
    quaternion = torch.cat([half.cos(), torch.sinc(half / torch.pi) / 2 * vector], -1)
    return rigid_motion(rotation_from_quaternion(quaternion), shift)


def _moved(points: Float[Tensor, "*#batch N 3"], pose: RigidTransform) -> Float[Tensor, "*batch N 3"]:
    return points @ pose.rotation.mT + pose.translation.unsqueeze(-2)
