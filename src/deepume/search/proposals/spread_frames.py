"""All pairings of the principal axes of evenly spread points, which know nothing of density."""

from __future__ import annotations

import numpy as np

from deepume.alignment.ranking import Ranking
from deepume.geometry.frames import axis_exchanges, frame_poses, sign_changes
from deepume.geometry.rotation_grids import axis_sweep
from deepume.search.pair import CloudPair
from deepume.search.proposals.proposal import Detail, Proposal
from deepume.transform import RigidTransform


def propose(pair: CloudPair, _: Ranking | None) -> RigidTransform:
    """All 24 proper pairings of axes, and a sweep where two variances are alike.

    The four pairings that keep the order of the axes also about the middles of the extents, which stay where the
    density changes along a shape.
    """
    source, target, policy = pair.coarse.source, pair.coarse.target, pair.policy
    sweep = axis_sweep(source.frame, target.frame, alike=policy.alike, steps=policy.sweep_steps)
    poses = frame_poses(source.frame, target.frame, np.concat([axis_exchanges(), sweep]))
    middles = source.frame.about_middle(source.points), target.frame.about_middle(target.points)
    return RigidTransform.concatenate([poses, frame_poses(*middles, sign_changes())])


SPREAD_FRAMES = Proposal("spread frames", propose, Detail.COARSE, beats_rivals=True)
