"""Fast global registration (Zhou, Park and Koltun 2016) on FPFH features, by Open3D, then ICP."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from jaxtyping import Float
from torch import Tensor

from deepume.alignment.nearest_points import refine_icp
from deepume.alignment.ranking import rank_hypotheses
from deepume.geometry.unit_sphere import to_unit_pair
from deepume.methods.packages.fpfh import describe_pair, load_open3d, pose_of, silent_open3d
from deepume.methods.pairwise import map_pairs
from deepume.result import Registration
from deepume.transform import RigidTransform, Source, Target


@dataclass(frozen=True, slots=True)
class FastGlobal:
    """Pairs of like features, and the motion on which most of them agree, by graduated non-convexity."""

    gate: float = 3.0
    """Pairs farther apart than this many point spacings are outliers in the end."""
    seed: int = 0
    """Tuples of pairs are drawn at random."""
    refiner: Callable[[Source, Target, RigidTransform], RigidTransform] = refine_icp
    """Refines what was found; GICP pairs only near points, as clouds that overlap in part need."""

    def __call__(self, source: Source, target: Target) -> Registration:
        """The refined motion. Loops over the batch."""
        pair = to_unit_pair(source, target)  # the package compares a squared length with a length: units matter
        pose = pair.restore(map_pairs(self._register, pair.source, pair.target))
        return rank_hypotheses(source, target, self.refiner(source, target, pose[..., None]))

    def _register(self, source: Float[Tensor, "N 3"], target: Float[Tensor, "M 3"]) -> RigidTransform:
        open3d = load_open3d()
        open3d.utility.random.seed(self.seed)
        pair = describe_pair(source, target)
        option = open3d.pipelines.registration.FastGlobalRegistrationOption(
            decrease_mu=True, maximum_correspondence_distance=self.gate * pair.spacing
        )
        with silent_open3d():
            result = open3d.pipelines.registration.registration_fgr_based_on_feature_matching(
                pair.source, pair.target, pair.source_features, pair.target_features, option
            )
        return pose_of(result, source)
