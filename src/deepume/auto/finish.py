"""The last refinement: which one suits the pair is seen from the pair itself."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from typing import NamedTuple

import torch
from torch import Tensor

from deepume.auto.copies import are_copies, assign_softly, lock_onto_shared
from deepume.auto.network import improve_pose
from deepume.auto.prepared import PreparedPair
from deepume.gicp import GicpSettings
from deepume.icp import IcpSettings
from deepume.transform import RigidTransform

FINE_GICP = GicpSettings()
FINE_ICP = IcpSettings(iterations=20, tolerance=1e-4)
COMMON_SCORE = 0.93
"""Independent samplings of a surface score 1, give or take 0.05 with 1,024 points; points in common bring it down."""


class Sampling(StrEnum):
    """How the points of two clouds of one surface belong together."""

    INDEPENDENT = "independent"
    """Two samplings without common points."""
    COPIES = "copies"
    """One is a noisy copy of the other."""
    SHARED = "shared"
    """Some points are the same in both."""


class Finish(NamedTuple):
    """A pose at the accuracy that the sampling allows."""

    pose: RigidTransform
    sampling: Sampling


def finish_pose(pair: PreparedPair, pose: RigidTransform, *, learned: bool = True) -> Finish:
    """Refine one pose on the whole clouds; where a step would make its own score worse, the pose before is kept.

    Shared points fix the pose exactly and noisy copies to a fraction of the noise. Without either, differently
    sampled surfaces are laid on each other along their normals, and clouds too sparse for normals are matched point
    by point, with the last word to the network.
    """
    copies = are_copies(pair, pose)
    if copies or not pair.dense or float(pair.score(pose[None])) < COMMON_SCORE:
        closer = _better(pair.score, pose, pair.icp(pose[None], FINE_ICP)[0])
        shared = lock_onto_shared(pair, closer)
        if shared is not None:
            return Finish(shared, Sampling.SHARED)
        if copies:
            return Finish(assign_softly(pair, closer), Sampling.COPIES)
        pose = pose if pair.dense else closer
    if pair.dense:
        fine = pair.gicp(pose[None], FINE_GICP)[0]
        return Finish(_better(pair.surface_score, pose, fine), Sampling.INDEPENDENT)
    return Finish(_by_network(pair, pose) if learned else pose, Sampling.INDEPENDENT)


def _by_network(pair: PreparedPair, pose: RigidTransform) -> RigidTransform:
    """What the network makes of the pose, unless the clouds fit worse there than chance allows.

    Sparse clouds leave several poses equally close; ICP takes one by accident, the network knows shapes.
    """
    improved = improve_pose(pair, pose)
    before, after = pair.score(RigidTransform.stack([pose, improved]))
    return improved if float(after) <= float(before) * (1 + pair.chance) else pose


def _better(
    score: Callable[[RigidTransform], Tensor], start: RigidTransform, refined: RigidTransform
) -> RigidTransform:
    before, after = score(RigidTransform.stack([start, refined]))
    return refined if bool(torch.lt(after, before)) else start
