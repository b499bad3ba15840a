"""DCP, deep closest point (Wang and Solomon, ICCV 2019): every source point gets a soft partner, then Procrustes.

Written from the published description; no code of the authors is used.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from jaxtyping import Float
from torch import Tensor, nn

from deepume.geometry.neighbors import full_precision
from deepume.geometry.rotation import solve_motion
from deepume.geometry.unit_sphere import to_unit_pair
from deepume.networks.estimate import Pair, check_positive
from deepume.networks.features import Dgcnn
from deepume.networks.resamplers import PaperResampler
from deepume.transform import RigidTransform, Source, Target


@dataclass(frozen=True, slots=True)
class DcpConfig:
    """Architecture of DCP; as published."""

    width: int = 512
    """Features of a point."""
    neighbors: int = 20
    """Nearest neighbors per point in the feature graph, the point itself included."""
    attention: bool = True
    """Version 2: a transformer lets each cloud's features look at the other's. Version 1 has none."""
    heads: int = 4
    """Attention heads; they divide the width."""
    hidden: int = 1024
    """Width between the two maps of each token."""

    def __post_init__(self):
        check_positive(self, "width", "neighbors", "heads", "hidden")


class SoftMatch(NamedTuple):
    """What DCP says of a pair."""

    target_from_source: RigidTransform
    partners: Float[Tensor, "*batch N 3"]
    """Where each source point would lie on the target: a mean of target points, in the unit sphere."""


class Dcp(nn.Module):
    """Features of both clouds, a soft partner for each source point, and the motion between points and partners.

    Absolute coordinates enter the features, so rotating a cloud changes them: it is a method for small angles, and
    swapping the clouds does not invert the answer. Permuting the points changes nothing; sizes may differ.

    Differs from the original: both clouds are brought into one unit sphere first, so that translating either cloud,
    or another unit, changes the answer accordingly and nothing else.
    """

    def __init__(self, config: DcpConfig | None = None):
        super().__init__()
        self.config = config = config or DcpConfig()
        self.describe = Dgcnn(config.width, config.neighbors)
        self.attend = PaperResampler(config.width, config.heads, config.hidden) if config.attention else None

    def forward(self, source: Source, target: Target) -> SoftMatch:
        """Pose of a pair."""
        pair = to_unit_pair(source, target)
        features = Pair(self.describe(pair.source), self.describe(pair.target))
        if self.attend is not None:
            of_source, of_target = features
            features = features.move(self.attend(of_source, of_target), self.attend(of_target, of_source))
        with full_precision(source):
            partners = soft_partners(features, pair.target)
            pose = solve_motion(pair.source, partners)
            return SoftMatch(pair.restore(pose), partners)


def soft_partners(features: Pair, target: Target) -> Float[Tensor, "*batch N 3"]:
    """Mean of the target points for each source point, weighted by how alike their features are (softmax)."""
    of_source, of_target = features.source.to(target), features.target.to(target)
    likeness = of_source @ of_target.mT / of_source.shape[-1] ** 0.5
    return likeness.softmax(-1) @ target
