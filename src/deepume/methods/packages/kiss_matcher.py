"""KISS-Matcher (Lim et al. 2025): local features, pruning by a graph of consistent pairs, a robust solver; then ICP."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from deepume.alignment.nearest_points import refine_icp
from deepume.alignment.ranking import rank_hypotheses
from deepume.errors import CloudValueError
from deepume.geometry.rotation import nearest_rotation
from deepume.geometry.spacing import sampling_distance
from deepume.geometry.unit_sphere import to_unit_pair
from deepume.io.packages import import_package
from deepume.methods.pairwise import map_pairs
from deepume.result import Registration
from deepume.transform import RigidTransform, Source, Target

LEAST_SIZE = 1e-6
"""Clouds of less than this share of the pair's radius are refused."""


@dataclass(frozen=True, slots=True)
class KissMatcher:
    """The package ``kiss-matcher`` with its own defaults; its one length is a multiple of the point spacing."""

    voxel: float = 3.0
    """Side of its voxels, in point spacings."""
    refiner: Callable[[Source, Target, RigidTransform], RigidTransform] = refine_icp
    """Refines what was found; GICP pairs only near points, as clouds that overlap in part need."""

    def __call__(self, source: Source, target: Target) -> Registration:
        """The refined motion. Loops over the batch."""
        pair = to_unit_pair(source, target)  # the package clamps some of its lengths: units matter
        pose = pair.restore(map_pairs(self._register, pair.source, pair.target))
        return rank_hypotheses(source, target, self.refiner(source, target, pose[..., None]))

    def _register(self, source: Float[Tensor, "N 3"], target: Float[Tensor, "M 3"]) -> RigidTransform:
        package = import_package("kiss_matcher", "deepume[bench]")
        side = self.voxel * float(torch.maximum(sampling_distance(source), sampling_distance(target)))
        _require_extent(source, "source")
        _require_extent(target, "target")
        matcher = package.KISSMatcher(package.KISSMatcherConfig(side))
        solution = matcher.estimate(source.float().numpy(force=True), target.float().numpy(force=True))
        rotation, translation = torch.tensor(solution.rotation), torch.tensor(solution.translation)
        return RigidTransform(nearest_rotation(rotation.to(source)), translation.to(source))


def _require_extent(points: Float[Tensor, "N 3"], name: str) -> None:
    """Raise if a cloud of a unit pair is a point in single precision: the package crashes on it."""
    size = float(points.abs().max())
    if size < LEAST_SIZE:
        raise CloudValueError(
            f"{name} is {size:.1g} times as large as the other cloud: a point to KISS-Matcher. Bring both to one unit, "
            "or pass allow_scale=True."
        )
