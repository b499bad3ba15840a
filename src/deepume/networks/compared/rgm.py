"""RGM (Fu et al., CVPR 2021): robust graph matching, one-to-one pairs from a soft assignment.

Written from the published description; no code of the authors is used (theirs has no licence).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.functional import layer_norm

from deepume.errors import CloudShapeError
from deepume.geometry.clouds import MIN_POINTS
from deepume.geometry.neighbors import full_precision
from deepume.geometry.rotation import solve_motion
from deepume.geometry.unit_sphere import UnitPair, to_unit_pair
from deepume.networks.compared.sinkhorn import log_sinkhorn
from deepume.networks.estimate import Pair, check_positive
from deepume.networks.features import Dgcnn
from deepume.networks.resamplers import PaperResampler
from deepume.transform import RigidTransform, Source, Target

Tokens = Float[Tensor, "*batch N C"]
Assignment = Float[Tensor, "*batch N M"]

INLIER_SCORE = 0.5
"""A point takes part if its row or column of the soft assignment sums to more than this."""


@dataclass(frozen=True, slots=True)
class RgmConfig:
    """Architecture of RGM, narrower than published: 1,024 channels would make 85 MB of weights in half precision."""

    width: int = 192
    """Features of a point."""
    neighbors: int = 20
    """Nearest neighbors per point in the feature graph, the point itself included."""
    heads: int = 4
    """Attention heads; they divide the width."""
    hidden: int = 384
    """Width between the two maps of each token."""
    layers: int = 2
    """Times that the graphs are matched, each time with features that have seen the match before."""
    iterations: int = 20
    """Sinkhorn iterations."""

    def __post_init__(self):
        check_positive(self, "width", "neighbors", "heads", "hidden", "layers", "iterations")


class GraphMatch(NamedTuple):
    """What RGM says of a pair."""

    target_from_source: RigidTransform
    assignment: Assignment
    """Soft assignment of source points to target points; rows and columns sum to at most 1."""


class Rgm(nn.Module):
    """Features on the points and on a learned graph of each cloud, matched by Sinkhorn, the best pairs by Procrustes.

    Absolute coordinates enter the features: a method for small angles. Permuting the points changes nothing. Points
    pair off one to one, so the clouds must have equal sizes.

    Differs from the original: narrower; one description of a point instead of two side by side; both clouds are
    brought into one unit sphere first.
    """

    def __init__(self, config: RgmConfig | None = None):
        super().__init__()
        self.config = config = config or RgmConfig()
        self.describe = Dgcnn(config.width, config.neighbors)
        self.layers = nn.ModuleList(GraphMatching(config) for _ in range(config.layers))
        self.mixers = nn.ModuleList(nn.Linear(2 * config.width, config.width) for _ in range(config.layers - 1))

    def forward(self, source: Source, target: Target) -> GraphMatch:
        """Pose of a pair. The Hungarian method runs on the host: not for a training step."""
        require_equal_sizes(source, target)
        pair = to_unit_pair(source, target)
        assignment = self._log_assignment(pair).exp()
        with full_precision(source), torch.no_grad():
            pose = _solve_pairs(pair, assignment)
        return GraphMatch(pair.restore(pose), assignment)

    def log_assignment(self, source: Source, target: Target) -> Assignment:
        """Logarithm of the soft assignment, from which the network learns."""
        return self._log_assignment(to_unit_pair(source, target))

    def _log_assignment(self, pair: UnitPair) -> Assignment:
        features = Pair(self.describe(pair.source), self.describe(pair.target))
        first, *later = self.layers
        features, log_assignment = first(features)
        for mix, layer in zip(self.mixers, later, strict=True):
            features, log_assignment = layer(_exchange(mix, features, log_assignment.exp()))
        return log_assignment


class GraphMatching(nn.Module):
    """One matching of two graphs: attention, a learned graph within each cloud, affinity, soft assignment."""

    def __init__(self, config: RgmConfig):
        super().__init__()
        width = config.width
        self.iterations = config.iterations
        self.attend = PaperResampler(width, config.heads, config.hidden)
        self.of_neighbors, self.of_self = nn.Linear(width, width), nn.Linear(width, width)
        self.affinity = nn.Parameter(torch.eye(width) + torch.empty(width, width).uniform_(-1, 1) / width**0.5)
        self.scale, self.shift = nn.Parameter(torch.ones(())), nn.Parameter(torch.zeros(()))

    def forward(self, features: Pair) -> tuple[Pair, Assignment]:
        """New features of both clouds, and the logarithm of their soft assignment."""
        source, target = features
        context = features.move(self.attend(source, target), self.attend(target, source))
        nodes = Pair(self._propagate(source, context.source), self._propagate(target, context.target))
        with full_precision(source):
            return nodes, log_sinkhorn(self._affinities(nodes), self.iterations)

    def _propagate(self, features: Tokens, context: Tokens) -> Tokens:
        """A graph convolution. Edges join points of like context; what a point sends is shared among its edges."""
        edges = (context @ context.mT / context.shape[-1] ** 0.5).softmax(-1)
        edges = edges / edges.sum(-2, keepdim=True)
        return edges @ self.of_neighbors(features).relu() + self.of_self(features).relu()

    def _affinities(self, nodes: Pair) -> Assignment:
        """How alike the points of the two clouds are, over the whole matrix of mean 0 and variance 1, then scaled."""
        form = (self.affinity + self.affinity.mT) / 2
        affinities = nodes.source.to(form) @ form @ nodes.target.to(form).mT
        return self.scale * layer_norm(affinities, affinities.shape[-2:]) + self.shift


def _exchange(mix: nn.Module, features: Pair, assignment: Assignment) -> Pair:
    """Each point's features joined by those of its soft partner."""
    source, target = features
    to_source, to_target = assignment @ target.to(assignment), assignment.mT @ source.to(assignment)
    return Pair(mix(torch.cat([source, to_source], -1)), mix(torch.cat([target, to_target], -1)))


def require_equal_sizes(source: Source, target: Target) -> None:
    """Raise an error that names the remedy unless the clouds can be paired off one to one."""
    sizes = source.shape[-2], target.shape[-2]
    if sizes[0] != sizes[1]:
        raise CloudShapeError(
            f"RGM pairs points one to one and needs clouds of equal size, got {sizes[0]} and {sizes[1]} points. Thin "
            f"the larger one: deepume.geometry.clouds.subsample_random(cloud, {min(sizes)}, generator=...)."
        )


def _solve_pairs(pair: UnitPair, assignment: Assignment) -> RigidTransform:
    """Procrustes on hard pairs."""
    flat = assignment.reshape(-1, *assignment.shape[-2:])
    found = [pair_off(matrix) for matrix in flat.numpy(force=True)]
    partners, weights = (torch.as_tensor(np.stack(part)).to(assignment.device) for part in zip(*found, strict=True))
    rows = partners.reshape(assignment.shape[:-1]).unsqueeze(-1)
    chosen = torch.take_along_dim(pair.target, rows, dim=-2)
    return solve_motion(pair.source, chosen, weights.reshape(assignment.shape[:-1]).to(pair.source))


def pair_off(assignment: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """For each row of a soft assignment, its column by the Hungarian method, and 1 if it takes part, else 0.

    Rows and columns whose sums exceed :data:`INLIER_SCORE` take part; if these are fewer than three, all do.
    """
    from scipy.optimize import linear_sum_assignment  # slow to import, and needed for answers only

    rows, columns = (np.flatnonzero(assignment.sum(axis) > INLIER_SCORE) for axis in (1, 0))
    if min(len(rows), len(columns)) < MIN_POINTS:
        rows, columns = (np.arange(size) for size in assignment.shape)
    of_row, of_column = linear_sum_assignment(assignment[np.ix_(rows, columns)], maximize=True)
    partners, weights = np.zeros(len(assignment), np.int64), np.zeros(len(assignment))
    partners[rows[of_row]], weights[rows[of_row]] = columns[of_column], 1
    return partners, weights
