"""All proper pairings of two principal frames, each refined, the best chosen afterwards: simple, and hard to beat."""

from __future__ import annotations

from dataclasses import dataclass

from deepume.alignment.gicp import GicpSettings, refine_gicp
from deepume.alignment.nearest_points import IcpSettings, refine_icp
from deepume.alignment.polish import are_dense, polish
from deepume.alignment.ranking import best_distinct, rank_hypotheses
from deepume.alignment.score import score_poses
from deepume.geometry.clouds import subsample_farthest
from deepume.geometry.frames import axis_exchanges, frame_poses, principal_frame
from deepume.result import Registration
from deepume.transform import RigidTransform, Source, Target

COARSE_GICP = GicpSettings(reach=10.0, iterations=8, tolerance=1e-3, two_sided=False)
FINALIST_GICP = GicpSettings(tolerance=1e-4, two_sided=False)
COARSE_ICP = IcpSettings(iterations=15, tolerance=1e-4)


@dataclass(frozen=True, slots=True)
class Frames:
    """24 proper frames, refined on evenly spread subsets; the best few on the whole clouds, the best of all polished.

    24 rather than 4, because near-equal variances exchange axes; chosen after refinement rather than before, because
    a frame that fits worse at first often fits best in the end.
    """

    gicp: bool = True
    """Refine by GICP (and, where clouds are sparse, finish by ICP) rather than by ICP throughout."""
    coarse_points: int = 128
    """Size of the subsets on which all frames are refined."""
    finalists: int = 6
    """Hypotheses that are refined on the whole clouds."""

    def __call__(self, source: Source, target: Target) -> Registration:
        """The best of the refined frames, with its rivals."""
        poses = frame_poses(principal_frame(source), principal_frame(target), axis_exchanges())
        coarse = subsample_farthest(source, self.coarse_points), subsample_farthest(target, self.coarse_points)
        by_gicp = self.gicp and source.device.type == "cpu"
        poses = refine_gicp(*coarse, poses, COARSE_GICP) if by_gicp else refine_icp(*coarse, poses, COARSE_ICP)
        poses = best_distinct(poses, score_poses(*coarse, poses), self.finalists)
        if by_gicp and are_dense(source, target):
            poses = refine_gicp(source, target, poses, FINALIST_GICP)
        else:
            poses = refine_icp(source, target, poses)
        if self.gicp:
            poses = best_distinct(poses, score_poses(source, target, poses), self.finalists)
            poses = RigidTransform.concatenate([polish(source, target, poses[..., :1]), poses[..., 1:]])
        return rank_hypotheses(source, target, poses)
