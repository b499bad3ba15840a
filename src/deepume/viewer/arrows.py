"""Vectors that belong to a cloud and turn with it: its principal axes, and its moments."""

from __future__ import annotations

from enum import StrEnum

import torch
from jaxtyping import Float
from torch import Tensor

from deepume.geometry.clouds import center, centroid, rms_radius
from deepume.geometry.frames import principal_frame
from deepume.geometry.moments import distance_from_center, moment_matrix, radial_functions
from deepume.geometry.spacing import area_weights
from deepume.networks.estimate import Pair

SHELLS = 8
"""Smooth shells around the center, between 0 and 2 radii, each of which has a moment."""
STRONGEST = 12
"""Learned features whose moments are drawn; all of them would hide the object."""
LONGEST = 1.3
"""Length of the longest moment as drawn, in target radii."""

Arrows = Float[Tensor, "K 2 3"]
"""Start and end of each arrow."""


class MomentsOf(StrEnum):
    """Which invariant features weight the moments."""

    SHELLS = "distance shells"
    LEARNED = "learned features"


def axis_arrows(cloud: Float[Tensor, "N 3"]) -> Arrows:
    """The principal axes, from the centroid, two standard deviations long."""
    frame = principal_frame(cloud)
    ends = frame.centroid + 2 * frame.variances.sqrt().unsqueeze(-1) * frame.axes.mT
    return torch.stack([frame.centroid.expand_as(ends), ends], -2)


def shell_features(cloud: Float[Tensor, "N 3"]) -> Float[Tensor, "N C"]:
    """The classical invariant features: how much a point belongs to each shell, radii being the unit."""
    distances = distance_from_center(center(cloud)) / rms_radius(cloud)
    functions = radial_functions(torch.linspace(0, 2, SHELLS, dtype=cloud.dtype))
    return torch.stack([function(distances) for function in functions], -1)


def moment_arrows(clouds: Pair, features: Pair) -> tuple[Arrows, Arrows]:
    """The moments of both clouds, from their centroids: the same features, in the same order, at the same scale.

    Moments turn with the cloud, so in the right pose the arrows of the two clouds lie on one another.
    """
    moments = [
        moment_matrix(center(cloud), values.to(cloud), area_weights(cloud))
        for cloud, values in zip(clouds, features, strict=True)
    ]
    lengths = torch.linalg.vector_norm(moments[1], dim=-1)
    strongest = lengths.topk(min(STRONGEST, len(lengths))).indices
    longest = lengths.max().clamp_min(torch.finfo(lengths.dtype).tiny)
    of_source, of_target = (
        torch.stack(
            [centroid(cloud).expand(len(strongest), 3), centroid(cloud) + rows[strongest] * LONGEST / longest], -2
        )
        for cloud, rows in zip(clouds, moments, strict=True)
    )
    return of_source, of_target
