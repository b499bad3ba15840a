"""The poses that can be looked at, and which of them to look at first."""

from __future__ import annotations

import torch

from deepume.geometry.rotation import geodesic_angle
from deepume.result import Hypothesis, Registration
from deepume.transform import RigidTransform


def candidates(result: Registration) -> tuple[Hypothesis, ...]:
    """The hypotheses of one pair, best first; of a method that lists none, its answer."""
    return result.hypotheses or (Hypothesis(result.target_from_source, result.score, torch.tensor(True)),)


def nearest_best(result: Registration, pose: RigidTransform) -> int:
    """Of the candidates that fit as well as the best, the position of the one whose rotation is nearest to a pose."""
    listed = candidates(result)
    best = [k for k, each in enumerate(listed) if k == 0 or bool(each.equivalent)]
    rotations = torch.stack([listed[k].target_from_source.rotation.to(pose.rotation) for k in best])
    return best[int(geodesic_angle(rotations, pose.rotation).argmin())]
