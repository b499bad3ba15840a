"""Generalized ICP (plane to plane) on CPU, by small_gicp."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from deepume.alignment.nearest_points import refine_icp
from deepume.arrays import Array, as_like, namespace, to_doubles
from deepume.geometry.clouds import center, centroid, rms_radius
from deepume.geometry.frames import NORMAL_NEIGHBORS
from deepume.geometry.rotation import middle_pose
from deepume.geometry.searchable import IndexedCloud
from deepume.transform import RigidTransform, Source, Target


@dataclass(frozen=True, slots=True)
class GicpSettings:
    """One configuration of generalized ICP."""

    neighbors: int = NORMAL_NEIGHBORS
    """Nearest points that give a point its covariance."""
    reach: float = 5.0
    """Points farther apart than this many point spacings are not paired."""
    iterations: int = 30
    """Most iterations; a pose that no longer moves stops earlier."""
    tolerance: float = 1e-5
    """A pose has converged when it turns by less (radians) and moves by less (point spacings)."""
    two_sided: bool = True
    """Look for partners in the target and, a second time, in the source; the mean of the two is some 15 % closer."""


def refine_gicp(
    source: Source, target: Target, target_from_source: RigidTransform, settings: GicpSettings | None = None
) -> RigidTransform:
    """Poses ``(*batch, K)`` after generalized ICP (plane to plane), which differently sampled surfaces need.

    Runs in C++ on CPU; loops over the batch, with one tree and one set of covariances for each pair. Commutes with
    rigid motions of either cloud; swapping the clouds inverts the poses.
    """
    settings = settings or GicpSettings()
    if min(source.shape[-2], target.shape[-2]) <= settings.neighbors:
        return refine_icp(source, target, target_from_source)  # no neighborhoods, no covariances
    # Its steps turn about the origin: only with the clouds there does the path not depend on where they lie.
    source_origin, target_origin = _shift(centroid(source)), _shift(centroid(target))
    matrices = (target_origin.inverse() @ target_from_source @ source_origin).matrix
    starts = to_doubles(matrices).reshape(-1, *matrices.shape[-3:])
    sources, targets = (to_doubles(center(cloud)).reshape(-1, *cloud.shape[-2:]) for cloud in (source, target))
    refined = [_refine_pair(*pair, settings) for pair in zip(sources, targets, starts, strict=True)]
    rotations = np.stack([each.rotation for each in refined]).reshape(*matrices.shape[:-2], 3, 3)
    translations = np.stack([each.translation for each in refined]).reshape(*matrices.shape[:-2], 3)
    pose = RigidTransform(as_like(rotations, matrices), as_like(translations, matrices))
    return target_origin @ pose @ source_origin.inverse()


def _shift(step: Float[Array, "*batch 3"]) -> RigidTransform:
    """Translations ``(*batch, 1)``, with an axis for hypotheses."""
    xp = namespace(step)
    eye = xp.broadcast_to(as_like(np.eye(3), step), (*step.shape[:-1], 1, 3, 3))
    return RigidTransform(eye, step[..., None, :])


def _refine_pair(
    source: Float[np.ndarray, "N 3"],
    target: Float[np.ndarray, "M 3"],
    starts: Float[np.ndarray, "K 4 4"],
    settings: GicpSettings,
) -> RigidTransform:
    """All poses of one pair; partners are looked for in one cloud, which must not depend on who is called source."""
    moving, fixed = (IndexedCloud(cloud, normal_neighbors=settings.neighbors) for cloud in (source, target))
    poses = RigidTransform(starts[:, :3, :3], starts[:, :3, 3])
    if (len(source), float(rms_radius(source))) <= (len(target), float(rms_radius(target))):
        return align_clouds(moving, fixed, poses, settings)
    return align_clouds(fixed, moving, poses.inverse(), settings).inverse()


def align_clouds(
    moving: IndexedCloud, fixed: IndexedCloud, starts: RigidTransform, settings: GicpSettings
) -> RigidTransform:
    """Poses ``(K,)`` of one pair, refined one by one; two-sided, the middle of both ways is taken.

    The way back begins where the way there ended: both end nearly at one pose, and the second has less to go.
    """
    there = _align(moving, fixed, starts, settings)
    if not settings.two_sided:
        return there
    return middle_pose(there, _align(fixed, moving, there.inverse(), settings).inverse())


def _align(moving: IndexedCloud, fixed: IndexedCloud, starts: RigidTransform, settings: GicpSettings) -> RigidTransform:
    import small_gicp

    spacing = max(float(moving.spacing), float(fixed.spacing))
    found = [
        small_gicp.align(
            fixed.described.cloud,
            moving.described.cloud,
            fixed.described.tree,
            start,
            registration_type="GICP",
            max_correspondence_distance=settings.reach * spacing,
            num_threads=1,  # with more, the sum over points has no fixed order and the result no fixed last bit
            max_iterations=settings.iterations,
            rotation_epsilon=settings.tolerance,
            translation_epsilon=settings.tolerance * spacing,
        ).T_target_source
        for start in starts.matrix
    ]
    matrices = np.stack(found)
    return RigidTransform(_tidy_rotation(matrices[:, :3, :3]), matrices[:, :3, 3])


def _tidy_rotation(matrix: Float[np.ndarray, "K 3 3"]) -> Float[np.ndarray, "K 3 3"]:
    """The nearest rotation of a product of rotations: one step of Newton's removes the rounding, faster than SVD."""
    return 1.5 * matrix - 0.5 * matrix @ matrix.mT @ matrix
