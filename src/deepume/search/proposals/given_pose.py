"""The caller's own pose."""

from __future__ import annotations

from deepume.search.proposals.proposal import Detail, Proposal
from deepume.transform import RigidTransform


def given_pose(pose: RigidTransform) -> Proposal:
    """A proposal of one pose, which counts as it is, too: it may be better than what refinement makes of it."""
    return Proposal("given pose", lambda *_: pose[None], Detail.WHOLE, keeps_start=True)
