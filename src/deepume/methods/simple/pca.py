"""Principal axes and nothing else: the four proper sign patterns, the best fit wins."""

from __future__ import annotations

from deepume.alignment.ranking import rank_hypotheses
from deepume.geometry.frames import frame_poses, principal_frame, sign_changes
from deepume.result import Registration
from deepume.transform import Source, Target


def register_pca(source: Source, target: Target) -> Registration:
    """Carry the source's principal frame to the target's, with the signs that fit best."""
    poses = frame_poses(principal_frame(source), principal_frame(target), sign_changes())
    return rank_hypotheses(source, target, poses)
