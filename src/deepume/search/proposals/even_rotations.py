"""Rotations spread evenly over SO(3): the last resort, which needs nothing of the clouds."""

from __future__ import annotations

from deepume.alignment.ranking import Ranking
from deepume.geometry.frames import frame_poses
from deepume.geometry.rotation_grids import rotation_grid
from deepume.search.pair import CloudPair
from deepume.search.proposals.proposal import Detail, Proposal
from deepume.transform import RigidTransform


def propose(pair: CloudPair, _: Ranking | None) -> RigidTransform:
    """A grid of rotations, laid between the principal frames so that it turns with the clouds."""
    coarse = pair.coarse
    return frame_poses(coarse.source.frame, coarse.target.frame, rotation_grid(pair.policy.rotations))


EVEN_ROTATIONS = Proposal("even rotations", propose, Detail.COARSE)
