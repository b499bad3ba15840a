"""Closed-form UME: moments of functions of the distance from the center, and the rotation between them."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from jaxtyping import Float
from torch import Tensor

from deepume.alignment.ranking import rank_hypotheses
from deepume.geometry.clouds import center, centroid
from deepume.geometry.frames import poses_about
from deepume.geometry.moments import discrete_ume, distance_from_center, indicator_functions
from deepume.geometry.rotation import correlation, nearest_rotation, rotation_is_determined
from deepume.result import Registration
from deepume.transform import Points, Source, Target

Limits = tuple[Tensor, Tensor]


@dataclass(frozen=True, slots=True)
class ClosedFormUme:
    """The paper's closed form (its section 2) with indicator functions of the distance from the center of mass."""

    bins: int = 16
    """Shells between the nearest and the farthest point; the rows of the moment matrix."""
    paper: bool = False
    """As the released code: each cloud has its own range, the farthest point is dropped, the mean row removed.

    Without it the range is that of both clouds together, so that a shell means the same in both.
    """

    def __call__(self, source: Source, target: Target) -> Registration:
        """Rotation between the moment matrices; translation from the centers of mass."""
        local_source, local_target = center(source), center(target)
        source_range, target_range = _range(local_source), _range(local_target)
        if not self.paper:
            source_range = target_range = _hull(source_range, target_range)
        matrix = correlation(self._moments(local_source, source_range), self._moments(local_target, target_range))
        poses = poses_about(nearest_rotation(matrix).unsqueeze(-3), centroid(source), centroid(target))
        result = rank_hypotheses(source, target, poses)
        return replace(result, ambiguous=result.ambiguous | ~rotation_is_determined(matrix))

    def _moments(self, points: Points, limits: Limits) -> Float[Tensor, "*batch C 3"]:
        low, high = limits
        steps = torch.linspace(0, 1, self.bins + 1, dtype=points.dtype, device=points.device)
        # In this form the last edge is the farthest distance to the last bit: whether that point counts is no accident.
        edges = low.unsqueeze(-1) * (1 - steps) + high.unsqueeze(-1) * steps
        moments = discrete_ume(points, distance_from_center(points), indicator_functions(edges))
        return moments - moments.mean(-2, keepdim=True) if self.paper else moments


def _range(points: Points) -> Limits:
    distances = distance_from_center(points)
    return distances.amin(-1), distances.amax(-1)


def _hull(first: Limits, second: Limits) -> Limits:
    """Smallest range that holds both, opened a little so that no point falls outside."""
    return torch.minimum(first[0], second[0]), torch.maximum(first[1], second[1]) * (1 + 1e-6)
