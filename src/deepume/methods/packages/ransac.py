"""RANSAC on matched FPFH features, by Open3D, then ICP."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from jaxtyping import Float
from torch import Tensor

from deepume.alignment.nearest_points import refine_icp
from deepume.alignment.ranking import rank_hypotheses
from deepume.methods.packages.fpfh import describe_pair, load_open3d, pose_of, silent_open3d
from deepume.methods.pairwise import map_pairs
from deepume.result import Registration
from deepume.transform import RigidTransform, Source, Target


@dataclass(frozen=True, slots=True)
class Ransac:
    """Triples of like features, each a candidate motion; the one with most inliers wins."""

    gate: float = 1.5
    """Inliers are closer than this many point spacings."""
    iterations: int = 100_000
    """Triples drawn at most."""
    confidence: float = 0.999
    """Stops earlier once a better motion is this unlikely."""
    edge_ratio: float = 0.9
    """Lengths within a triple must agree to this ratio."""
    seed: int = 0
    """Triples are drawn at random."""
    refiner: Callable[[Source, Target, RigidTransform], RigidTransform] = refine_icp
    """Refines what was found; GICP pairs only near points, as clouds that overlap in part need."""

    def __call__(self, source: Source, target: Target) -> Registration:
        """The refined motion. Loops over the batch."""
        poses = map_pairs(self._register, source, target)[..., None]
        return rank_hypotheses(source, target, self.refiner(source, target, poses))

    def _register(self, source: Float[Tensor, "N 3"], target: Float[Tensor, "M 3"]) -> RigidTransform:
        open3d = load_open3d()
        open3d.utility.random.seed(self.seed)
        pair, search = describe_pair(source, target), open3d.pipelines.registration
        gate = self.gate * pair.spacing
        checkers = [
            search.CorrespondenceCheckerBasedOnEdgeLength(self.edge_ratio),
            search.CorrespondenceCheckerBasedOnDistance(gate),
        ]
        with silent_open3d():
            result = search.registration_ransac_based_on_feature_matching(
                pair.source,
                pair.target,
                pair.source_features,
                pair.target_features,
                mutual_filter=True,
                max_correspondence_distance=gate,
                estimation_method=search.TransformationEstimationPointToPoint(False),
                ransac_n=3,
                checkers=checkers,
                criteria=search.RANSACConvergenceCriteria(self.iterations, self.confidence),
            )
        return pose_of(result, source)
