"""Joint resampling: each cloud moves its points a little, looking at the other one (paper, section 3).

Two resamplers: the paper's transformer on bare coordinates, and one that describes every point first and
also gives the features of the moments.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn.functional import layer_norm, scaled_dot_product_attention, softplus

from deepume.geometry.neighbors import full_precision, gather_points, has_kernels, neighbor_indices
from deepume.transform import Source, Target

SourceTokens = Float[Tensor, "*batch N C"]
TargetTokens = Float[Tensor, "*batch M C"]
PairTokens = Float[Tensor, "*batch T C"]
Graph = Int[Tensor, "*batch N k"]

EDGE_COLUMNS = 8
"""Numbers that describe an edge; a multiple of 8, for which the fast products of a GPU are made."""
FOURIER_OCTAVES = 6
"""Wavelengths of the position features: 4 radii of the cloud, and five times half of it, down to 1/8."""


class Attention(nn.Module):
    """Multi-head attention: queries read from a memory, itself or another cloud."""

    def __init__(self, width: int, heads: int):
        super().__init__()
        self.heads = heads
        self.query, self.key, self.value, self.out = (nn.Linear(width, width) for _ in range(4))

    def forward(self, tokens: SourceTokens, memory: TargetTokens) -> SourceTokens:
        """For each token, the values of the memory weighted by how well their keys match its query."""
        query = _split_heads(self.query(tokens), self.heads)
        key, value = _split_heads(self.key(memory), self.heads), _split_heads(self.value(memory), self.heads)
        read = scaled_dot_product_attention(query, key, value)
        return self.out(_join_heads(read, tokens.shape))


def _split_heads(rows: Float[Tensor, "*batch N C"], heads: int) -> Float[Tensor, "B H N c"]:
    """One batch axis, then one axis for the heads: the form for which torch has fast kernels."""
    return rows.reshape(-1, rows.shape[-2], heads, rows.shape[-1] // heads).transpose(-3, -2)


def _join_heads(rows: Float[Tensor, "B H N c"], shape: torch.Size) -> Float[Tensor, "*batch N C"]:
    return rows.transpose(-3, -2).reshape(shape)


def feed_forward(
    width: int, hidden: int, activation: nn.Module, *, inputs: int | None = None, bias: bool = True
) -> nn.Sequential:
    """Two linear maps of each token with a nonlinearity between; ``inputs`` are as many as outputs by default."""
    return nn.Sequential(nn.Linear(inputs or width, hidden, bias), activation, nn.Linear(hidden, width, bias))


class PaperNorm(nn.Module):
    """Layer norm as the released code has it: unbiased standard deviation, epsilon added to it."""

    def __init__(self, width: int, eps: float = 1e-6):
        super().__init__()
        self.weight, self.bias = nn.Parameter(torch.ones(width)), nn.Parameter(torch.zeros(width))
        self.eps = eps

    def forward(self, tokens: SourceTokens) -> SourceTokens:
        """Each token with mean 0 and standard deviation 1, scaled and shifted by the weights."""
        deviation, mean = torch.std_mean(tokens, -1, keepdim=True)
        return self.weight * (tokens - mean) / (deviation + self.eps) + self.bias


class PaperResampler(nn.Module):
    r"""The transformer of the paper, :math:`\phi(C_1, C_2)`: an encoder reads the other cloud, a decoder the own one.

    One pre-norm layer each, no dropout, no code of position. On coordinates (width 3) it is the paper's joint
    resampling, on features (width 512) its ablation. The sum ``cloud + phi(cloud, other)`` is left to the caller.
    """

    def __init__(self, width: int = 3, heads: int = 1, hidden: int = 64):
        super().__init__()
        self.encoder_attention, self.decoder_attention, self.cross_attention = (
            Attention(width, heads) for _ in range(3)
        )
        self.encoder_hidden, self.decoder_hidden = (feed_forward(width, hidden, nn.ReLU()) for _ in range(2))
        self.encoder_norms = nn.ModuleList(PaperNorm(width) for _ in range(3))
        self.decoder_norms = nn.ModuleList(PaperNorm(width) for _ in range(4))

    def forward(self, cloud: SourceTokens, other: TargetTokens) -> SourceTokens:
        """Displacement of each row of ``cloud``, which permutes with them; the order of ``other`` changes nothing."""
        return self._decode(cloud, self._encode(other))

    def _encode(self, other: TargetTokens) -> TargetTokens:
        before_attention, before_hidden, last = self.encoder_norms
        normed = before_attention(other)
        tokens = other + self.encoder_attention(normed, normed)
        return last(tokens + self.encoder_hidden(before_hidden(tokens)))

    def _decode(self, cloud: SourceTokens, memory: TargetTokens) -> SourceTokens:
        before_attention, before_cross, before_hidden, last = self.decoder_norms
        normed = before_attention(cloud)
        tokens = cloud + self.decoder_attention(normed, normed)
        tokens = tokens + self.cross_attention(before_cross(tokens), memory)
        return last(tokens + self.decoder_hidden(before_hidden(tokens)))


class Resampled(NamedTuple):
    """What the resampler says of one cloud of a pair."""

    displacement: Float[Tensor, "*batch N 3"]
    """Where each point should move to; zero before training."""
    features: Float[Tensor, "*batch N F"]
    """Non-negative features, the weights of the moments."""
    pooled: Float[Tensor, "*batch P"]
    """Mean and maximum of the tokens: the cloud as one vector."""


class AttentionResampler(nn.Module):
    """Tokens of both clouds, in one frame, through blocks of self- and cross-attention with shared weights.

    Exchanging the clouds exchanges the results; permuting points permutes them. The clouds must be in a common
    frame and of size about 1; they may differ in size.

    Differs from the paper: tokens instead of bare coordinates, and displacements that are zero before training.
    """

    def __init__(self, width: int, heads: int, blocks: int, features: int, neighbors: int, cross_neighbors: int):
        super().__init__()
        self.neighbors = neighbors
        self.tokens = PointTokens(width, cross_neighbors)
        self.blocks = nn.ModuleList(PairBlock(width, heads) for _ in range(blocks))
        self.norm = TokenNorm(width)
        self.displacement = nn.Linear(width, 3)
        self.features = nn.Linear(width, features)
        nn.init.zeros_(self.displacement.weight)
        nn.init.zeros_(self.displacement.bias)

    def graph(self, cloud: Source) -> Graph:
        """The neighbors of each point in its own cloud: found once, for no rigid motion changes them."""
        return neighbor_indices(cloud, cloud, min(self.neighbors, cloud.shape[-2]))

    def forward(
        self,
        source: Source,
        target: Target,
        source_graph: Int[Tensor, "*batch N k"],
        target_graph: Int[Tensor, "*batch M l"],
    ) -> tuple[Resampled, Resampled]:
        """Displacements, features and pooled tokens of the source and of the target."""
        across = self.tokens.graph(source, target), self.tokens.graph(target, source)
        return self.attend(source, target, (source_graph, target_graph), across)

    def attend(
        self,
        source: Source,
        target: Target,
        own: tuple[Graph, Int[Tensor, "*batch M l"]],
        across: tuple[Int[Tensor, "*batch N p"], Int[Tensor, "*batch M q"]],
    ) -> tuple[Resampled, Resampled]:
        """The same from the neighbors of each point, in its own and in the other cloud; their order does not matter."""
        sizes = source.shape[-2], target.shape[-2]
        both = [self.tokens(source, target, own[0], across[0]), self.tokens(target, source, own[1], across[1])]
        tokens = torch.cat(both, -2)
        for block in self.blocks:
            tokens = block(tokens, sizes)
        of_source, of_target = self.norm(tokens).split(sizes, -2)
        return self._read(of_source), self._read(of_target)

    def _read(self, tokens: SourceTokens) -> Resampled:
        pooled = torch.cat([tokens.mean(-2), tokens.amax(-2)], -1)
        return Resampled(self.displacement(tokens), softplus(self.features(tokens)), pooled)


class PointTokens(nn.Module):
    """A first description of each point: its surroundings in the own and in the other cloud, and where it is."""

    def __init__(self, width: int, cross_neighbors: int):
        super().__init__()
        self.cross_neighbors = cross_neighbors
        self.own, self.other = (
            feed_forward(width, width // 2, nn.GELU(), inputs=EDGE_COLUMNS, bias=False) for _ in range(2)
        )
        self.position = nn.Linear(6 * FOURIER_OCTAVES, width)

    def graph(self, cloud: Source, other: Target) -> Graph:
        """The neighbors of each point in the other cloud."""
        return neighbor_indices(cloud, other, min(self.cross_neighbors, other.shape[-2]))

    def forward(self, cloud: Source, other: Target, own: Graph, across: Int[Tensor, "*batch N p"]) -> SourceTokens:
        """The sum of three descriptions of each point."""
        around = _pool(self.own(_edges(cloud, cloud, own)))
        opposite = _pool(self.other(_edges(cloud, other, across)))
        return around + opposite + self.position(fourier_features(cloud))


def _pool(edges: Float[Tensor, "*batch N k C"]) -> Float[Tensor, "*batch N C"]:
    """Maximum over the neighbors of each point."""
    if not has_kernels(edges.device):
        return edges.amax(-2)
    from deepume.networks.kernels.neighborhood import pool_neighbors

    return pool_neighbors(edges)


def _edges(cloud: Source, other: Target, indices: Int[Tensor, "*batch N k"]) -> Float[Tensor, "*batch N k 8"]:
    """From each point to its neighbors: offset, length, where the point is, and 1, whose weights are the bias."""
    offsets = gather_points(other, indices) - cloud.unsqueeze(-2)
    # The length has no gradient at zero, where a point is its own neighbor.
    lengths = (offsets.square().sum(-1, keepdim=True) + torch.finfo(cloud.dtype).eps ** 2).sqrt()
    places = cloud.unsqueeze(-2).expand_as(offsets)
    return torch.cat([offsets, lengths, places, torch.ones_like(lengths)], -1)


def fourier_features(cloud: Source) -> Float[Tensor, "*batch N F"]:
    """Sines and cosines of each coordinate at :data:`FOURIER_OCTAVES` wavelengths."""
    octaves = 2.0 ** torch.arange(FOURIER_OCTAVES, dtype=cloud.dtype, device=cloud.device)
    phases = (cloud.unsqueeze(-1) * (torch.pi / 2 * octaves)).flatten(-2)
    return torch.cat([phases.sin(), phases.cos()], -1)


class TokenNorm(nn.LayerNorm):
    """Layer norm in the precision of the tokens; automatic half precision would write them out in float32."""

    def forward(self, input: PairTokens) -> PairTokens:
        """Each token with mean 0 and variance 1, scaled and shifted by the weights; sums are taken in float32."""
        if has_kernels(input.device):
            from deepume.networks.kernels.token_norm import normalize_tokens

            return normalize_tokens(input, self.weight, self.bias, self.eps)
        with full_precision(input):
            return layer_norm(input, self.normalized_shape, self.weight.to(input), self.bias.to(input), self.eps)


class PairBlock(nn.Module):
    """Self-attention, cross-attention and a map of each token, pre-norm, the same weights for both clouds.

    The tokens of both clouds share one axis, source first, so that each linear map is one product. Its bias would
    repeat that of the norm before it.
    """

    def __init__(self, width: int, heads: int):
        super().__init__()
        self.norms = nn.ModuleList(TokenNorm(width) for _ in range(3))
        self.own = PairAttention(width, heads, cross=False)
        self.other = PairAttention(width, heads, cross=True)
        self.hidden = feed_forward(width, 2 * width, nn.GELU(), bias=False)

    def forward(self, tokens: PairTokens, sizes: tuple[int, int]) -> PairTokens:
        """Tokens that have read their own cloud and then the other; ``sizes`` are the numbers of points."""
        before_own, before_other, before_hidden = self.norms
        tokens = tokens + self.own(before_own(tokens), sizes)
        tokens = tokens + self.other(before_other(tokens), sizes)
        return tokens + self.hidden(before_hidden(tokens))


class PairAttention(nn.Module):
    """Multi-head attention within a pair: each cloud reads itself or, with ``cross``, the other one."""

    def __init__(self, width: int, heads: int, *, cross: bool):
        super().__init__()
        self.heads, self.cross = heads, cross
        self.project, self.out = nn.Linear(width, 3 * width, bias=False), nn.Linear(width, width, bias=False)

    def forward(self, tokens: PairTokens, sizes: tuple[int, int]) -> PairTokens:
        """What each token reads."""
        parts = (_split_heads(part, self.heads) for part in self.project(tokens).chunk(3, -1))
        queries, keys, values = (part.split(sizes, -2) for part in parts)
        memory = (1, 0) if self.cross else (0, 1)
        reads = [scaled_dot_product_attention(queries[i], keys[j], values[j]) for i, j in enumerate(memory)]
        return self.out(_join_heads(torch.cat(reads, -2), tokens.shape))
