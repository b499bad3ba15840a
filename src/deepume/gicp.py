"""Generalized ICP (plane to plane) on CPU, by small_gicp."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from deepume.clouds import center, centroid, rms_radius
from deepume.icp import refine_icp
from deepume.rotation import nearest_rotation
from deepume.score import sampling_distance
from deepume.transform import RigidTransform
from deepume.types import Source, Target


@dataclass(frozen=True, slots=True)
class GicpSettings:
    """One configuration of generalized ICP."""

    neighbors: int = 10
    """Nearest points that give a point its covariance."""
    reach: float = 5.0
    """Points farther apart than this many point spacings are not paired."""
    iterations: int = 30
    """Most iterations; a pose that no longer moves stops earlier."""
    tolerance: float = 1e-5
    """A pose has converged when it turns by less (radians) and moves by less (point spacings)."""


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
    starts = matrices.reshape(-1, *matrices.shape[-3:])
    sources, targets = (center(cloud).reshape(-1, *cloud.shape[-2:]) for cloud in (source, target))
    refined = [_gicp_either_way(*pair, settings) for pair in zip(sources, targets, starts, strict=True)]
    matrices = torch.stack(refined).reshape(matrices.shape)
    pose = RigidTransform(nearest_rotation(matrices[..., :3, :3]), matrices[..., :3, 3])
    return target_origin @ pose @ source_origin.inverse()


def _shift(step: Float[Tensor, "*batch 3"]) -> RigidTransform:
    """Translations ``(*batch, 1)``, with an axis for hypotheses."""
    eye = torch.eye(3, dtype=step.dtype, device=step.device)
    return RigidTransform(eye.expand(*step.shape[:-1], 1, 3, 3), step.unsqueeze(-2))


def _gicp_either_way(
    source: Float[Tensor, "N 3"], target: Float[Tensor, "M 3"], starts: Float[Tensor, "K 4 4"], settings: GicpSettings
) -> Float[Tensor, "K 4 4"]:
    """GICP looks for partners in one cloud only: let it be the same one whichever is called the source."""
    if (len(source), float(rms_radius(source))) <= (len(target), float(rms_radius(target))):
        return _gicp_pair(source, target, starts, settings)
    return torch.linalg.inv(_gicp_pair(target, source, torch.linalg.inv(starts), settings))


def _gicp_pair(
    source: Float[Tensor, "N 3"], target: Float[Tensor, "M 3"], starts: Float[Tensor, "K 4 4"], settings: GicpSettings
) -> Float[Tensor, "K 4 4"]:
    import small_gicp  # compiled, and only needed where a pose is polished on CPU

    target_cloud, source_cloud = (small_gicp.PointCloud(_as_doubles(cloud)) for cloud in (target, source))
    target_tree, source_tree = small_gicp.KdTree(target_cloud), small_gicp.KdTree(source_cloud)
    small_gicp.estimate_covariances(target_cloud, target_tree, settings.neighbors)
    small_gicp.estimate_covariances(source_cloud, source_tree, settings.neighbors)
    spacing = torch.maximum(sampling_distance(source), sampling_distance(target))
    refined = [
        small_gicp.align(
            target_cloud,
            source_cloud,
            target_tree,
            _as_doubles(start),
            registration_type="GICP",
            max_correspondence_distance=settings.reach * float(spacing),
            num_threads=1,  # with more, the sum over points has no fixed order and the result no fixed last bit
            max_iterations=settings.iterations,
            rotation_epsilon=settings.tolerance,
            translation_epsilon=settings.tolerance * float(spacing),
        ).T_target_source
        for start in starts
    ]
    return torch.from_numpy(np.stack(refined)).to(starts)


def _as_doubles(values: Tensor) -> np.ndarray:
    return values.numpy(force=True).astype(np.float64)
