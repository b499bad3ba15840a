"""Where hypotheses come from: principal frames, a grid of rotations, the network."""

from __future__ import annotations

import torch

from deepume.alignment.gicp import GicpSettings
from deepume.alignment.indexed_pair import PreparedPair
from deepume.geometry.rotation import geodesic_angle
from deepume.geometry.rotation_grids import axis_exchanges, axis_sweep, frame_poses, rotation_grid, sign_changes
from deepume.search.candidates import CLEAR_LEAD, Candidates, misfits, refine_whole
from deepume.search.network import network_poses
from deepume.transform import RigidTransform

COARSE_GICP = GicpSettings(reach=10.0, iterations=12, tolerance=1e-3, two_sided=False)
BRIEF_GICP = GicpSettings(reach=10.0, iterations=6, tolerance=1e-3, two_sided=False)
"""Half the steps, for fast answers: on validation shapes the last refinement brings these as close."""
FINALISTS = 6
"""Hypotheses of a stage that are refined on the whole clouds."""
KNOWN_ANGLE = 8 * torch.pi / 180
"""Refined, a pose this near to a refined one would end there, too; a farther one may yet lock onto common points."""


def from_signs(pair: PreparedPair, settings: GicpSettings) -> Candidates:
    """The four proper pairings of the principal frames, refined: a frame that fits worse at first may fit best.

    Of dense clouds few points take part, and the scores are theirs.
    """
    poses, few = frame_poses(pair.source.frame, pair.target.frame, sign_changes()), pair.quick
    return Candidates.rank(few, few.gicp(poses, settings) if pair.dense else refine_whole(few, poses))


def from_frames(pair: PreparedPair, found: Candidates) -> Candidates:
    """All 24 pairings of principal axes of evenly spread points, and a sweep where two variances are alike.

    The four proper ones also about the middles of the extents, which stay where the density changes along a shape.
    """
    return refine_stage(pair, spread_frames(pair.coarse), found)


def spread_frames(coarse: PreparedPair) -> RigidTransform:
    """Poses of the frames of evenly spread points, before refinement."""
    clouds = coarse.source, coarse.target
    frames = clouds[0].frame, clouds[1].frame
    poses = frame_poses(*frames, torch.cat([axis_exchanges(), axis_sweep(*frames)]))
    middles = clouds[0].frame.about_middle(clouds[0].points), clouds[1].frame.about_middle(clouds[1].points)
    return RigidTransform.concatenate([poses, frame_poses(*middles, sign_changes())])


def from_grid(pair: PreparedPair, found: Candidates) -> Candidates:
    """Rotations spread evenly over SO(3)."""
    return refine_stage(pair, spread_rotations(pair.coarse), found)


def spread_rotations(coarse: PreparedPair) -> RigidTransform:
    """Poses of the grid, centroid on centroid, before refinement."""
    return frame_poses(coarse.source.frame, coarse.target.frame, rotation_grid(72))


def from_network(pair: PreparedPair, _: Candidates) -> Candidates:
    """What the network makes of the four proper frames."""
    return Candidates.rank(pair, refine_whole(pair, network_poses(pair)))


def refine_stage(pair: PreparedPair, poses: RigidTransform, found: Candidates) -> Candidates:
    """Many hypotheses refined on few points; the best few on all of them.

    Where a pose was found that fits, only poses that rival it on few points and are not found yet are worth that.
    """
    few = Candidates.rank(pair.coarse, pair.coarse.gicp(poses, COARSE_GICP))
    if not misfits(pair, found):
        known = found.poses.rotation[found.near(CLEAR_LEAD * pair.chance)]
        new = geodesic_angle(few.poses.rotation.unsqueeze(1), known).amin(-1) > KNOWN_ANGLE
        few = few[few.near(CLEAR_LEAD * pair.coarse.chance) & new]
    if not len(few.scores):
        return few
    return Candidates.rank(pair, refine_whole(pair, few.poses[:FINALISTS]))
