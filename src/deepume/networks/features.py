"""Learned features of each point: a DGCNN on the graph of nearest neighbors (paper, section 3)."""

from __future__ import annotations

from typing import cast

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn.functional import linear

from deepume.geometry.neighbors import has_kernels, neighbor_indices
from deepume.transform import Points

EDGE_WIDTHS = (64, 64, 128, 256)
"""Channels after each layer on the edges; their maxima, side by side, make the description of a point."""
CPU_BLOCK = 128
"""Points whose edges are worked on at one time on CPU: what they need stays in the cache."""
GPU_BLOCK = 1 << 19
"""The same on GPU: large enough to fill it, small enough (5 GB in half precision) to leave room."""


class PointLayer(nn.Module):
    """One map for every row (a 1 x 1 convolution): linear without bias, batch norm, ReLU."""

    def __init__(self, inputs: int, outputs: int):
        super().__init__()
        self.linear = nn.Linear(inputs, outputs, bias=False)
        self.norm = nn.BatchNorm1d(outputs)

    def forward(self, rows: Float[Tensor, "*rows I"]) -> Float[Tensor, "*rows O"]:
        """Mapped rows; batch statistics while training, the learned ones otherwise."""
        if self.training:
            return self.normalize(self.linear(rows))
        return linear(rows, *self.folded()).relu_()

    def normalize(self, mapped: Float[Tensor, "*rows O"]) -> Float[Tensor, "*rows O"]:
        """Batch norm over all rows, and ReLU."""
        return self.norm(mapped.flatten(0, -2)).view_as(mapped).relu_()

    def pool(
        self, mapped: Float[Tensor, "P k O"], *, keep_edges: bool
    ) -> tuple[Float[Tensor, "P k O"] | None, Float[Tensor, "P O"]]:
        """Normalized edges, if they are to be kept, and the maxima over the edges of each point, while training."""
        if not has_kernels(mapped.device):
            mapped = self.normalize(mapped)
            return mapped, mapped.max(-2).values
        from deepume.networks.kernels.edge_norm import normalize_and_pool

        norm = self.norm
        kept, pooled, mean, variance = normalize_and_pool(mapped, norm.weight, norm.bias, norm.eps, keep_edges)
        self._remember(mean, variance, mapped.shape[:-1].numel())
        return kept, pooled

    @torch.no_grad()
    def _remember(self, mean: Float[Tensor, " O"], variance: Float[Tensor, " O"], count: int) -> None:
        """Move the learned statistics a step towards those of a batch, as batch norm does, its variance unbiased."""
        running_mean, running_variance = self.statistics()
        momentum = self.norm.momentum
        assert momentum is not None
        running_mean.lerp_(mean, momentum)
        running_variance.lerp_(variance * (count / (count - 1)), momentum)

    def statistics(self) -> tuple[Float[Tensor, " O"], Float[Tensor, " O"]]:
        """Learned mean and variance of each channel."""
        mean, variance = self.norm.running_mean, self.norm.running_var
        assert mean is not None
        assert variance is not None
        return mean, variance

    def folded(self) -> tuple[Float[Tensor, "O I"], Float[Tensor, " O"]]:
        """Weight and bias of the linear map that equals this layer up to its ReLU, outside training."""
        mean, variance = self.statistics()
        scale = self.norm.weight * torch.rsqrt(variance + self.norm.eps)
        return self.linear.weight * scale.unsqueeze(-1), self.norm.bias - mean * scale


class Dgcnn(nn.Module):
    """DGCNN with a static graph, as in the released code: k nearest neighbors in space, the point itself among them.

    An edge starts as (neighbor, center), absolute coordinates. Each layer maps all edges; the maximum over the edges
    of a point is taken after every layer, beside the edges: the next layer acts on the edges again. The four maxima
    give the features by one more layer; they are non-negative. Permuting the points permutes the features. Clouds
    of fewer than ``neighbors`` points use all they have.
    """

    def __init__(self, features: int = 512, neighbors: int = 20):
        super().__init__()
        self.neighbors = neighbors
        inputs = (6, *EDGE_WIDTHS[:-1])
        self.edge_layers = nn.ModuleList(PointLayer(*widths) for widths in zip(inputs, EDGE_WIDTHS, strict=True))
        self.point_layer = PointLayer(sum(EDGE_WIDTHS), features)

    def forward(self, points: Points) -> Float[Tensor, "*batch N C"]:
        """Non-negative features of each point, ``C = features``."""
        return self.from_graph(points, neighbor_indices(points, points, min(self.neighbors, points.shape[-2])))

    def from_graph(self, points: Points, neighbors: Int[Tensor, "*batch N k"]) -> Float[Tensor, "*batch N C"]:
        """The same from the neighbors of each point."""
        graph, rows = _flat_graph(neighbors), points.reshape(-1, 3)
        pooled = self._pool_trained(rows, graph) if self.training else self._pool_folded(rows, graph)
        return self.point_layer(pooled).unflatten(0, points.shape[:-1])

    def _pool_trained(self, points: Float[Tensor, "P 3"], graph: Int[Tensor, "P k"]) -> Float[Tensor, "P C"]:
        """Maxima over the edges of each point after each layer, all edges at once: batch norm needs them all."""
        neighbors = points.index_select(0, graph.flatten()).view(*graph.shape, 3)
        first, *later = cast("list[PointLayer]", list(self.edge_layers))
        edges, most = first.pool(_map_edges(neighbors, points, first.linear.weight), keep_edges=True)
        pooled = [most]
        for layer in later:
            edges, most = layer.pool(layer.linear(edges), keep_edges=layer is not later[-1])
            pooled.append(most)
        return torch.cat(pooled, -1)

    def _pool_folded(self, points: Float[Tensor, "P 3"], graph: Int[Tensor, "P k"]) -> Float[Tensor, "P C"]:
        """The same with learned statistics, which are folded into the maps, and in blocks of points.

        The first map is linear in neighbor and center, so its products are taken once per point and then gathered.
        """
        (weight, bias), *later = (layer.folded() for layer in self.edge_layers)  # pyright: ignore[reportCallIssue]
        of_neighbor, of_center = linear(points, weight[:, :3]), linear(points, weight[:, 3:], bias)
        if has_kernels(points.device) and of_neighbor.dtype in (torch.bfloat16, torch.float16):
            from deepume.networks.kernels.edges import pool_edges

            return pool_edges(of_neighbor, of_center, graph, later)
        if torch.compiler.is_exporting():
            return _pool_block(of_neighbor, graph, of_center, later)  # a graph in a file has no loop over blocks
        size = CPU_BLOCK if points.device.type == "cpu" else GPU_BLOCK
        blocks = zip(graph.split(size), of_center.split(size), strict=True)
        return torch.cat([_pool_block(of_neighbor, *block, later) for block in blocks])


def _map_edges(
    neighbors: Float[Tensor, "P k 3"], points: Float[Tensor, "P 3"], weight: Float[Tensor, "A 6"]
) -> Float[Tensor, "P k A"]:
    """The first map of (neighbor, center), made of offset and center: half precision rounds those far less.

    Two points near each other differ by little more than the last digit of their coordinates in half precision.
    """
    centers = points.unsqueeze(-2).expand_as(neighbors)
    of_neighbor, of_center = weight.chunk(2, -1)
    return linear(torch.cat([neighbors - centers, centers], -1), torch.cat([of_neighbor, of_neighbor + of_center], -1))


def _flat_graph(indices: Int[Tensor, "*batch N k"]) -> Int[Tensor, "P k"]:
    """Positions within each cloud made positions within all clouds, one after the other."""
    clouds = indices.reshape(-1, *indices.shape[-2:])
    first = torch.arange(clouds.shape[0], device=indices.device) * indices.shape[-2]
    return (clouds + first[:, None, None]).flatten(0, 1)


def _pool_block(
    of_neighbor: Float[Tensor, "P A"],
    graph: Int[Tensor, "B k"],
    of_center: Float[Tensor, "B A"],
    later: list[tuple[Tensor, Tensor]],
) -> Float[Tensor, "B C"]:
    """Maxima over the edges of some points after each layer. ReLU keeps order, so it may follow the maximum."""
    gathered = of_neighbor.index_select(0, graph.flatten()).view(*graph.shape, -1)
    edges = (gathered + of_center.unsqueeze(-2)).relu_()
    pooled = [edges.amax(-2)]
    for weight, bias in later[:-1]:
        edges = linear(edges, weight, bias).relu_()
        pooled.append(edges.amax(-2))
    weight, bias = later[-1]
    pooled.append((linear(edges, weight).amax(-2) + bias).relu_())
    return torch.cat(pooled, -1)
