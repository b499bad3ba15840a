"""A grid of rotations over SO(3), each refined by ICP: needs nothing of the clouds, and takes its time."""

from __future__ import annotations

from dataclasses import dataclass

from deepume.alignment.nearest_points import IcpSettings, refine_icp
from deepume.alignment.ranking import best_distinct, rank_hypotheses
from deepume.alignment.score import score_poses
from deepume.geometry.clouds import subsample_farthest
from deepume.geometry.frames import frame_poses, principal_frame
from deepume.geometry.rotation_grids import rotation_grid
from deepume.result import Registration
from deepume.transform import Source, Target

COARSE_ICP = IcpSettings(iterations=15, tolerance=1e-4)


@dataclass(frozen=True, slots=True)
class Grid:
    """Rotations spread evenly, refined on evenly spread subsets; the best few are refined on the whole clouds.

    The grid is laid in the principal frames, so that it turns with the clouds.
    """

    rotations: int = 72
    """Size of the grid; 72 leave no rotation farther than about 57 degrees from the nearest."""
    coarse_points: int = 128
    """Size of the subsets on which the whole grid is refined."""
    finalists: int = 6
    """Hypotheses that are refined on the whole clouds."""

    def __call__(self, source: Source, target: Target) -> Registration:
        """The best of the refined grid, with its rivals."""
        poses = frame_poses(principal_frame(source), principal_frame(target), rotation_grid(self.rotations))
        coarse = subsample_farthest(source, self.coarse_points), subsample_farthest(target, self.coarse_points)
        poses = refine_icp(*coarse, poses, COARSE_ICP)
        poses = best_distinct(poses, score_poses(*coarse, poses), self.finalists)
        return rank_hypotheses(source, target, refine_icp(source, target, poses))
