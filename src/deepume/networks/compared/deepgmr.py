"""DeepGMR (Yuan et al., ECCV 2020): each cloud as a Gaussian mixture with latent correspondences, one closed form.

Written from the published description; no code of the authors is used (theirs is for non-commercial use only).
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor, nn

from deepume.geometry.neighbors import full_precision, gather_points, neighbor_indices
from deepume.geometry.rotation import solve_rotation
from deepume.geometry.unit_sphere import to_unit_pair
from deepume.networks.estimate import check_positive
from deepume.networks.features import PointLayer
from deepume.transform import Points, RigidTransform, Source, Target, Vectors, motion_between

LEAST_VARIANCE = 1e-6
"""Variances are held above this, in the unit sphere: a component without points has none."""


@dataclass(frozen=True, slots=True)
class DeepGMRConfig:
    """Architecture of DeepGMR; as published."""

    components: int = 16
    """Gaussians of the mixture."""
    neighbors: int = 20
    """Nearest neighbors that describe a point, the point itself not counted."""
    widths: tuple[int, ...] = (64, 128, 256, 1024)
    """Channels of the layers before the clouds are pooled."""
    head: tuple[int, ...] = (512, 256, 128)
    """Channels of the layers after that."""

    def __post_init__(self):
        check_positive(self, "components", "neighbors")


class Mixture(NamedTuple):
    """Isotropic Gaussians, one for each component."""

    shares: Float[Tensor, "*batch J"]
    """Of the points, of sum 1."""
    means: Float[Tensor, "*batch J 3"]
    variances: Float[Tensor, "*batch J"]
    """Sum over the three coordinates."""


class MixtureMatch(NamedTuple):
    """What DeepGMR says of a pair: the closed form is not symmetric, so it has two answers."""

    target_from_source: RigidTransform
    source_from_target: RigidTransform


class DeepGMR(nn.Module):
    """Points are assigned to the components by features that no rotation changes; components correspond by number.

    Rotating, translating or permuting either cloud, or scaling both, changes the answer accordingly and nothing else.
    Clouds that coincide after a motion give that motion. Sizes may differ. The features depend on which points are
    neighbors, so another sampling of the surface changes them much.

    Differs from the original: both clouds are brought into one unit sphere first.
    """

    def __init__(self, config: DeepGMRConfig | None = None):
        super().__init__()
        self.config = config = config or DeepGMRConfig()
        self.describe = _chain((4 * config.neighbors, *config.widths))
        self.assign = _chain((2 * config.widths[-1], *config.head))
        self.logits = nn.Linear(config.head[-1], config.components)

    def forward(self, source: Source, target: Target) -> MixtureMatch:
        """Pose of a pair, and that of the swapped pair."""
        pair = to_unit_pair(source, target)
        of_source, of_target = self.mixture(pair.source), self.mixture(pair.target)
        swapped = to_unit_pair(target, source)
        with full_precision(source):
            return MixtureMatch(
                pair.restore(match_mixtures(of_source, of_target)),
                swapped.restore(match_mixtures(of_target, of_source)),
            )

    def mixture(self, points: Points) -> Mixture:
        """The Gaussians of a centered cloud."""
        local = self.describe(rotation_invariants(points, self.config.neighbors))
        pooled = local.amax(-2, keepdim=True).expand_as(local)
        logits = self.logits(self.assign(torch.cat([local, pooled], -1)))
        with full_precision(points):
            return fit_mixture(points, logits.to(points).softmax(-1))


def _chain(widths: tuple[int, ...]) -> nn.Sequential:
    return nn.Sequential(*(PointLayer(*pair) for pair in pairwise(widths)))


def fit_mixture(points: Points, assignment: Float[Tensor, "*batch N J"]) -> Mixture:
    """Maximum likelihood of the Gaussians for given (soft) assignments."""
    shares = assignment.mean(-2)
    weights = assignment / assignment.sum(-2, keepdim=True).clamp_min(torch.finfo(points.dtype).tiny ** 0.5)
    means = weights.mT @ points
    squares = (points.unsqueeze(-2) - means.unsqueeze(-3)).square().sum(-1)
    return Mixture(shares, means, (weights * squares).sum(-2).clamp_min(LEAST_VARIANCE))


def match_mixtures(source: Mixture, target: Mixture) -> RigidTransform:
    """The motion that brings the means together, each counted by its share and the precision of its target."""
    origins = _middle(source.shares, source.means), _middle(source.shares, target.means)
    offsets = [
        means - origin.unsqueeze(-2) for means, origin in zip((source.means, target.means), origins, strict=True)
    ]
    rotation = solve_rotation(*offsets, weights=source.shares / target.variances)
    return motion_between(*origins, rotation)


def _middle(shares: Float[Tensor, "*batch J"], means: Float[Tensor, "*batch J 3"]) -> Vectors:
    return (shares.unsqueeze(-1) * means).sum(-2)


@torch.no_grad()
def rotation_invariants(points: Points, neighbors: int) -> Float[Tensor, "*batch N C"]:
    """Four numbers for each neighbor q of a point p, nearest first: |p|, |q|, the angle between them, and a turn.

    The turn is the least positive angle about p from q to another neighbor. They determine the neighborhood up to a
    rotation of the centered cloud, and no rotation changes them. A cloud with too few points repeats the farthest.
    """
    with full_precision(points):
        count = min(neighbors, points.shape[-2] - 1)
        near = neighbor_indices(points, points, count + 1)[..., 1:]
        near = torch.cat([near, near[..., -1:].expand(*near.shape[:-1], neighbors - count)], -1)
        others = gather_points(points, near)
        centers = points.unsqueeze(-2).expand_as(others)
        norms = torch.linalg.vector_norm(centers, dim=-1), torch.linalg.vector_norm(others, dim=-1)
        angles = torch.atan2(
            torch.linalg.vector_norm(centers.cross(others, dim=-1), dim=-1), (centers * others).sum(-1)
        )
        return torch.stack([*norms, angles, turns_to_next(centers, others)], -1).flatten(-2)


def turns_to_next(centers: Float[Tensor, "*batch N k 3"], others: Float[Tensor, "*batch N k 3"]) -> Tensor:
    """For each neighbor, the angle about the line to the center to the next one counter-clockwise."""
    axis = centers / torch.linalg.vector_norm(centers, dim=-1, keepdim=True).clamp_min(1e-12)
    flat = others - (others * axis).sum(-1, keepdim=True) * axis
    first = flat[..., :1, :]
    azimuths = torch.atan2((axis * first.cross(flat, dim=-1)).sum(-1), (first * flat).sum(-1))
    ordered, order = azimuths.sort(dim=-1)
    following = torch.cat([ordered[..., 1:], ordered[..., :1] + 2 * torch.pi], -1)
    return torch.zeros_like(azimuths).scatter(-1, order, following - ordered)
