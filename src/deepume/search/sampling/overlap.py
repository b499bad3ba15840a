"""Clouds that show different parts of an object, laid on each other by the surfaces that both show.

Nearest points draw two parts together, for every point without a counterpart pulls. What marks the true pose is how
many points lie on the other cloud's surface there, not how far off the others are.
"""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor

from deepume.alignment.fit import Fit
from deepume.alignment.gicp import GicpSettings
from deepume.alignment.indexed_cloud import PreparedCloud
from deepume.alignment.indexed_pair import PreparedPair
from deepume.alignment.score import TRUNCATION, best_distinct, is_distinct
from deepume.geometry.normals import along_normals
from deepume.search.candidates import Candidates
from deepume.search.finish import Finish, Sampling
from deepume.search.judgement.evidence import COVERED
from deepume.search.sampling.copies import lock_onto_shared
from deepume.search.stages import COARSE_GICP, spread_frames, spread_rotations
from deepume.transform import RigidTransform

LACKING = 0.06
"""Clouds of which both have this share of points that are not covered may show different parts: so do nine in ten pairs
of parts that were laid wrongly as wholes, and one in ten where a sampling thins out."""
LONELY, FEWER = 0.05, 0.95
"""They do where they are alone by the spacing at that place, too, and fewer points are off the surface: clearly fewer,
if the pose is another one."""
FEWEST_POINTS = 150
"""Smaller parts have no surface that could be laid on another."""
CLOSE_GICP = GicpSettings(reach=3.0, iterations=12, tolerance=1e-3, two_sided=False)
PARTS_GICP = GicpSettings(iterations=20, tolerance=1e-3)
FINALISTS = 8
"""Poses that are refined on all points of the search."""


def may_be_parts(pair: PreparedPair, fit: Fit) -> bool:
    """Whether both clouds have points that the other lacks, seen from the pose at which they fit best as wholes."""
    if pair.smaller_size < FEWEST_POINTS or fit.score <= 1 + pair.chance:
        return False
    sides = ((side.partners.distances, side.fixed.spacing) for side in (fit.forward, fit.backward))
    return all(float((distances > COVERED * spacing).double().mean()) >= LACKING for distances, spacing in sides)


def lay_parts(pair: PreparedPair, whole: Finish, rivals: Candidates) -> tuple[Finish, Candidates]:
    """The pose at which most points lie on the other surface, and the poses that it has beaten, or what was given.

    Rivals at which nearest points are closer, though fewer lie on the surface, are refuted by that, and left out.
    """
    searched = pair.for_search
    known = RigidTransform.concatenate([whole.fit.pose[None], rivals.poses])
    poses = searched.gicp(part_poses(searched.coarse, known), PARTS_GICP)
    off = share_off_surface(searched, poses)
    best = int(off.argmin())
    finish = _finish(pair, poses[best], _lead(poses, off, best))
    if finish.fit.lonely_share < LONELY or float(off[best]) > _limit(searched, whole.fit.pose, poses[best]):
        return whole, rivals
    beaten = Candidates.rank(pair, RigidTransform.concatenate([known, poses]))
    others = is_distinct(beaten.poses, finish.fit.pose)
    return finish, beaten[others & (beaten.scores >= finish.fit.score)]


def part_poses(coarse: PreparedPair, known: RigidTransform) -> RigidTransform:
    """The distinct poses that bring most of few points onto the other surface, those that are known among them."""
    starts = RigidTransform.concatenate([spread_frames(coarse), spread_rotations(coarse)])
    close = coarse.gicp(coarse.gicp(starts, COARSE_GICP), CLOSE_GICP)
    poses = RigidTransform.concatenate([known, close])
    return best_distinct(poses, share_off_surface(coarse, poses), FINALISTS)


def share_off_surface(pair: PreparedPair, poses: RigidTransform) -> Float[Tensor, "K"]:
    """Mean distance along the normals, in spacings; whatever is off by more than one spacing counts as one."""
    forward = _off_surface(pair.source, pair.target, poses)
    return (forward + _off_surface(pair.target, pair.source, poses.inverse())) / 2


def _off_surface(moving: PreparedCloud, fixed: PreparedCloud, poses: RigidTransform) -> Float[Tensor, "K"]:
    moved = poses.apply(moving.points.unsqueeze(-3))
    partners = fixed.nearest(moved)
    offsets = moved - fixed.points[partners.indices]
    along = along_normals(offsets, moving.normals @ poses.rotation.mT, fixed.normals[partners.indices])
    near = partners.distances < TRUNCATION * fixed.spacing
    return torch.where(near, (along / fixed.spacing).clamp_max(1.0), 1.0).mean(-1)


def _lead(poses: RigidTransform, off: Float[Tensor, "K"], best: int) -> float | None:
    """By what share more is off the surface at the best of the other poses."""
    others = is_distinct(poses, poses[best])
    return float(off[others].min() / off[best].clamp_min(1e-6)) - 1 if bool(others.any()) else None


def _limit(pair: PreparedPair, whole: RigidTransform, laid: RigidTransform) -> float:
    """What may be off the surface at most, for parts to be believed rather than wholes."""
    off = float(share_off_surface(pair, whole[None])[0])
    return FEWER * off if bool(is_distinct(laid, whole)) else off


def _finish(pair: PreparedPair, pose: RigidTransform, lead: float | None) -> Finish:
    """The pose on all points; points in common, where the parts are cut from one cloud, fix it exactly."""
    pose = pose if pair.searched_whole else pair.gicp(pose[None], PARTS_GICP)[0]
    shared = lock_onto_shared(pair, pose)
    if shared is not None:
        return Finish(Fit.of(pair, shared), Sampling.SHARED)
    return Finish(Fit.of(pair, pose), Sampling.PARTS, lead=lead)
