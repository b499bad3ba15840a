"""Where the clouds lie and how large they are: taken away before the search, given back to its results."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from deepume.alignment.indexed_cloud import PreparedCloud
from deepume.alignment.indexed_pair import PreparedPair
from deepume.geometry.clouds import center, centroid, rms_radius
from deepume.transform import RigidTransform, move_covariance


@dataclass(frozen=True, slots=True)
class Placement:
    """Origins and unit of a prepared pair: ``original = unit * prepared + origin``."""

    source_origin: Float[Tensor, "3"]
    target_origin: Float[Tensor, "3"]
    unit: Float[Tensor, ""]

    def restore(self, poses: RigidTransform) -> RigidTransform:
        """Poses of the prepared pair, for the clouds as they were given."""
        shift = self.unit * poses.translation + self.target_origin
        return RigidTransform(poses.rotation, shift - self._carried(poses))

    def enter(self, poses: RigidTransform) -> RigidTransform:
        """Poses of the clouds as they were given, for the prepared pair."""
        shift = poses.translation + self._carried(poses) - self.target_origin
        return RigidTransform(poses.rotation, shift / self.unit)

    def _carried(self, poses: RigidTransform) -> Float[Tensor, "K 3"]:
        return (poses.rotation @ self.source_origin.unsqueeze(-1)).squeeze(-1)

    def restore_covariance(self, covariance: Float[Tensor, "6 6"]) -> Float[Tensor, "6 6"]:
        """Covariance about the origin of the target as it was given."""
        eye = torch.eye(3, dtype=covariance.dtype)
        return move_covariance(covariance, RigidTransform(eye, self.target_origin, self.unit))


def prepare_pair(source: Float[Tensor, "N 3"], target: Float[Tensor, "M 3"]) -> tuple[PreparedPair, Placement]:
    """Both clouds in double precision on CPU without their strays, centered, and divided by one length."""
    source, target = (cloud.detach().to("cpu", torch.float64) for cloud in (source, target))
    pair, placement = _place(source, target)
    strays = pair.source.is_stray, pair.target.is_stray
    if not any(bool(each.any()) for each in strays):
        return pair, placement
    return _place(source[~strays[0]], target[~strays[1]])


def has_strays(pair: PreparedPair, source: Float[Tensor, "N 3"], target: Float[Tensor, "M 3"]) -> bool:
    """Whether points of the clouds were left out of the pair."""
    return (len(pair.source.points), len(pair.target.points)) != (len(source), len(target))


def _place(source: Float[Tensor, "N 3"], target: Float[Tensor, "M 3"]) -> tuple[PreparedPair, Placement]:
    unit = torch.maximum(rms_radius(source), rms_radius(target)).clamp_min(torch.finfo(torch.float64).tiny)
    pair = PreparedPair(PreparedCloud(center(source) / unit), PreparedCloud(center(target) / unit))
    return pair, Placement(centroid(source), centroid(target), unit)


def must_swap(pair: PreparedPair) -> bool:
    """Whether the search should call the other cloud source: its result must not depend on the caller's names."""
    sizes = ((len(each.points), float(rms_radius(each.points))) for each in (pair.source, pair.target))
    return next(sizes) > next(sizes)
