"""The four proper pairings of the principal frames: the first proposal, and for most pairs the only one."""

from __future__ import annotations

from deepume.alignment.ranking import Ranking
from deepume.geometry.frames import frame_poses, sign_changes
from deepume.search.pair import CloudPair
from deepume.search.proposals.proposal import Detail, Proposal
from deepume.transform import RigidTransform


def propose(pair: CloudPair, _: Ranking | None) -> RigidTransform:
    """Four poses; all are refined, for a frame that fits worse at first may fit best."""
    return frame_poses(pair.source.frame, pair.target.frame, sign_changes())


PRINCIPAL_FRAMES = Proposal("principal frames", propose, Detail.QUICK)
