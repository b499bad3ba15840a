"""Both clouds of a pair in one unit sphere: what networks on bare coordinates need to see, whatever the unit."""

from __future__ import annotations

from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from deepume.geometry.clouds import center, centroid
from deepume.geometry.neighbors import full_precision
from deepume.transform import Points, RigidTransform, Source, Target, Vectors, rigid_motion


class UnitPair(NamedTuple):
    """A pair at the origin, of radius 1, with the way back."""

    source: Source
    target: Target
    source_center: Vectors
    target_center: Vectors
    radius: Float[Tensor, "*batch"]

    def restore(self, pose: RigidTransform) -> RigidTransform:
        """A pose of the unit pair, for the original clouds."""
        carried = (pose.rotation @ self.source_center.unsqueeze(-1)).squeeze(-1)
        step = self.radius.unsqueeze(-1) * pose.translation
        return rigid_motion(pose.rotation, self.target_center + step - carried)


def to_unit_pair(source: Source, target: Target) -> UnitPair:
    """Each cloud centered, both divided by the distance of the farthest point of the two.

    Translating either cloud, or scaling both, leaves the unit pair as it is.
    """
    with full_precision(source):
        local_source, local_target = center(source), center(target)
        radius = torch.maximum(_radius(local_source), _radius(local_target)).clamp_min(torch.finfo(source.dtype).tiny)
        unit = radius[..., None, None]
        return UnitPair(local_source / unit, local_target / unit, centroid(source), centroid(target), radius)


def _radius(centered: Points) -> Float[Tensor, "*batch"]:
    return torch.linalg.vector_norm(centered, dim=-1).amax(-1)
