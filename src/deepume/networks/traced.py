"""What goes into an exported file: a network without its closed forms, as modules that can be traced.

Principal frames and Procrustes have no operator in ONNX. So a graph starts with both clouds in a common frame, and ends
with the correlation whose nearest rotation is the answer.
"""

from __future__ import annotations

from typing import cast

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from deepume.geometry.clouds import center
from deepume.geometry.moments import moment_matrix
from deepume.geometry.rotation import correlation
from deepume.networks.deepume import DeepUME
from deepume.networks.estimate import Pair
from deepume.networks.paper import PaperDeepUME, Resampling
from deepume.transform import Points, Source, Target


class TracedPass(nn.Module):
    """One pass of the default network, large or small, from both clouds in the common frame."""

    outputs = ("correlation", "source_mean", "target_mean", "score")

    def __init__(self, network: DeepUME):
        super().__init__()
        self.network = network

    def forward(self, source: Source, target: Target) -> tuple[Tensor, ...]:
        """What the closed form needs (:class:`deepume.networks.heads.Fit`), and the score of the pose."""
        resample = self.network.resample
        own = resample.neighbors, resample.tokens.cross_neighbors
        described = resample.attend(
            source,
            target,
            (nearest_points(source, source, own[0]), nearest_points(target, target, own[0])),
            (nearest_points(source, target, own[1]), nearest_points(target, source, own[1])),
        )
        reading = self.network.read(Pair(source, target), *described)
        return *reading.fit, reading.score


class TracedPaper(nn.Module):
    """The paper's network from both clouds in their principal frames, with the signs already chosen."""

    outputs = ("correlation",)

    def __init__(self, network: PaperDeepUME):
        super().__init__()
        self.network = network

    def forward(self, source: Source, target: Target) -> tuple[Tensor, ...]:
        """Correlation of the moments in both frames, their means over the features removed."""
        resampled = self.network.resample(Pair(source, target), Resampling.COORDINATES)
        features = self.network.resample(Pair(*map(self._describe, resampled)), Resampling.FEATURES)
        moments = [moment_matrix(center(cloud), rows) for cloud, rows in zip(resampled, features, strict=True)]
        return (correlation(*(rows - rows.mean(-2, keepdim=True) for rows in moments)),)

    def _describe(self, points: Points) -> Float[Tensor, "*batch N C"]:
        describe = self.network.describe
        return describe.from_graph(points, nearest_points(points, points, describe.neighbors))


def nearest_points(queries: Float[Tensor, "B N 3"], points: Float[Tensor, "B M 3"], k: int) -> Int[Tensor, "B N k"]:
    """Positions of the ``k`` nearest points, or of all where there are fewer, in no order.

    Measured by differences: single precision then tells apart all but ties.
    """
    gaps = (queries[..., :, None, axis] - points[..., None, :, axis] for axis in range(3))
    x, y, z = (gap.square() for gap in gaps)
    count = torch.sym_min(k, points.shape[-2])
    return (x + y + z).topk(cast("int", count), largest=False, sorted=False).indices
