"""A slow, literal twin of the released network: what the fast one must equal, written as the released one works.

Channels first, a loop over the batch and the sign patterns, convolutions on gathered edges, attention with the
whole matrix, an SVD for each pair. Parameters have other names on purpose; :func:`twin_of` maps them.
"""

from __future__ import annotations

import math
from itertools import pairwise

import torch
from torch import nn
from torch.nn.functional import relu, softmax

from deepume.networks.paper import PaperDeepUME

SIGNS = [(a, b, c) for a in (1.0, -1.0) for b in (1.0, -1.0) for c in (1.0, -1.0)]


class TwinNorm(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.gain = nn.Parameter(torch.ones(width))
        self.shift = nn.Parameter(torch.zeros(width))

    def forward(self, x):
        mean = x.mean(-1, keepdim=True)
        std = x.std(-1, keepdim=True)
        return self.gain * (x - mean) / (std + 1e-6) + self.shift


class TwinAttention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads, self.depth = heads, width // heads
        self.projections = nn.ModuleList([nn.Linear(width, width) for _ in range(4)])

    def forward(self, query, key, value):
        batch = query.shape[0]
        split = [
            projection(x).view(batch, -1, self.heads, self.depth).transpose(1, 2)
            for projection, x in zip(self.projections, (query, key, value), strict=False)
        ]
        scores = torch.matmul(split[0], split[1].transpose(-2, -1)) / math.sqrt(self.depth)
        read = torch.matmul(softmax(scores, dim=-1), split[2])
        return self.projections[3](read.transpose(1, 2).contiguous().view(batch, -1, self.heads * self.depth))


class TwinHidden(nn.Module):
    def __init__(self, width, hidden):
        super().__init__()
        self.first, self.second = nn.Linear(width, hidden), nn.Linear(hidden, width)

    def forward(self, x):
        return self.second(relu(self.first(x)))


class TwinTransformer(nn.Module):
    def __init__(self, width, heads, hidden):
        super().__init__()
        self.encoder_self, self.encoder_hidden = TwinAttention(width, heads), TwinHidden(width, hidden)
        self.encoder_norms = nn.ModuleList([TwinNorm(width) for _ in range(3)])
        self.decoder_self, self.decoder_cross = TwinAttention(width, heads), TwinAttention(width, heads)
        self.decoder_hidden = TwinHidden(width, hidden)
        self.decoder_norms = nn.ModuleList([TwinNorm(width) for _ in range(4)])

    def encode(self, x):
        normed = self.encoder_norms[0](x)
        x = x + self.encoder_self(normed, normed, normed)
        x = x + self.encoder_hidden(self.encoder_norms[1](x))
        return self.encoder_norms[2](x)

    def decode(self, x, memory):
        normed = self.decoder_norms[0](x)
        x = x + self.decoder_self(normed, normed, normed)
        x = x + self.decoder_cross(self.decoder_norms[1](x), memory, memory)
        x = x + self.decoder_hidden(self.decoder_norms[2](x))
        return self.decoder_norms[3](x)

    def forward(self, first, second):
        """Channels first: displacements of the first cloud (which reads the second), and of the second."""
        one, two = first.transpose(2, 1), second.transpose(2, 1)
        return self.decode(one, self.encode(two)).transpose(2, 1), self.decode(two, self.encode(one)).transpose(2, 1)


class TwinDgcnn(nn.Module):
    def __init__(self, features, neighbors):
        super().__init__()
        self.k = neighbors
        widths = [6, 64, 64, 128, 256]
        self.convs = nn.ModuleList([nn.Conv2d(a, b, 1, bias=False) for a, b in pairwise(widths)])
        self.convs.append(nn.Conv2d(512, features, 1, bias=False))
        self.norms = nn.ModuleList([nn.BatchNorm2d(width) for width in (64, 64, 128, 256, features)])

    def forward(self, x):
        x = edge_features(x, self.k)
        pooled = []
        for conv, norm in zip(self.convs[:4], self.norms[:4], strict=True):
            x = relu(norm(conv(x)))
            pooled.append(x.max(dim=-1, keepdim=True)[0])
        x = torch.cat(pooled, dim=1)
        return relu(self.norms[4](self.convs[4](x))).squeeze(-1)


def edge_features(x, k):
    """(B, 3, N) to (B, 6, N, k): neighbor above center."""
    batch, _, count = x.shape
    inner = -2 * torch.matmul(x.transpose(2, 1), x)
    squares = torch.sum(x**2, dim=1, keepdim=True)
    nearest = (-squares - inner - squares.transpose(2, 1)).topk(k=k, dim=-1)[1]
    nearest = (nearest + torch.arange(batch).view(-1, 1, 1) * count).view(-1)
    rows = x.transpose(2, 1).contiguous()
    neighbors = rows.view(batch * count, 3)[nearest, :].view(batch, count, k, 3)
    centers = rows.view(batch, count, 1, 3).repeat(1, 1, k, 1)
    return torch.cat((neighbors, centers), dim=3).permute(0, 3, 1, 2)


def principal_axes(cloud):
    """(3, N), centered, to columns of axes, least variance first."""
    return torch.linalg.eigh(cloud @ cloud.T / (cloud.shape[1] - 1))[1]


def squared_chamfer(first, second):
    """(N, 3) and (M, 3)."""
    distances = ((first[:, None] - second[None]) ** 2).sum(-1)
    return distances.min(1)[0].mean() + distances.min(0)[0].mean()


class ReleasedTwin(nn.Module):
    """(B, 3, N) and (B, 3, M) to rotations (B, 3, 3) and translations (B, 3)."""

    def __init__(self, features=512, neighbors=20):
        super().__init__()
        self.transformer = TwinTransformer(3, 1, 64)
        self.dgcnn = TwinDgcnn(features, neighbors)

    def forward(self, source, target):
        masses = source.mean(2), target.mean(2)
        source_axes, target_axes = [], []
        for one, two in zip(source - masses[0][:, :, None], target - masses[1][:, :, None], strict=True):
            axes, other_axes = principal_axes(one), principal_axes(two)
            best, kept = math.inf, other_axes
            for signs in SIGNS:
                signed = other_axes * torch.tensor(signs, dtype=one.dtype)[None]
                distance = squared_chamfer((axes.T @ one).T, (signed.T @ two).T)
                if float(distance) < best:
                    best, kept = float(distance), signed
            source_axes.append(axes)
            target_axes.append(kept)
        axes = torch.stack(source_axes), torch.stack(target_axes)
        one = torch.matmul(axes[0].transpose(2, 1), source - masses[0][:, :, None])
        two = torch.matmul(axes[1].transpose(2, 1), target - masses[1][:, :, None])
        moves = self.transformer(one, two)
        one, two = one + moves[0], two + moves[1]
        return self.solve(axes, masses, one, two)

    def solve(self, axes, masses, one, two):
        features = self.dgcnn(one), self.dgcnn(two)
        rotations, translations = [], []
        for index in range(one.shape[0]):
            moments = []
            for side, cloud in enumerate((one[index], two[index])):
                points = axes[side][index] @ cloud
                points = points - points.mean(1, keepdim=True)
                matrix = points @ features[side][index].T / points.shape[1]
                moments.append(matrix - matrix.mean(1, keepdim=True))
            u, _, vt = torch.linalg.svd(moments[1] @ moments[0].T)
            flip = torch.diag(
                torch.tensor([1.0, 1.0, float(torch.det(u.detach() @ vt.detach()).sign())], dtype=u.dtype)
            )
            rotation = u @ flip @ vt
            rotations.append(rotation)
            translations.append(masses[1][index] - rotation @ masses[0][index])
        return torch.stack(rotations), torch.stack(translations)


def twin_of(model: PaperDeepUME) -> ReleasedTwin:
    """The twin with the model's weights, in the model's mode and precision."""
    twin = ReleasedTwin(model.config.feature_dim, model.config.neighbors)
    state = {twin_name(name): value for name, value in model.state_dict().items()}
    for name in state:
        if ".convs." in name:
            state[name] = state[name][:, :, None, None]
    twin.load_state_dict(state, strict=True)
    return twin.to(next(model.parameters()).dtype).train(model.training)


RENAMES = [
    ("describe.point_layer.linear", "dgcnn.convs.4"),
    ("describe.point_layer.norm", "dgcnn.norms.4"),
    *((f"describe.edge_layers.{i}.linear", f"dgcnn.convs.{i}") for i in range(4)),
    *((f"describe.edge_layers.{i}.norm", f"dgcnn.norms.{i}") for i in range(4)),
    ("displace.encoder_attention", "transformer.encoder_self"),
    ("displace.decoder_attention", "transformer.decoder_self"),
    ("displace.cross_attention", "transformer.decoder_cross"),
    ("displace.", "transformer."),
    (".query.", ".projections.0."),
    (".key.", ".projections.1."),
    (".value.", ".projections.2."),
    (".out.", ".projections.3."),
    ("hidden.0.", "hidden.first."),
    ("hidden.2.", "hidden.second."),
]


def twin_name(name: str) -> str:
    """The twin's name of one of the model's parameters or statistics."""
    for ours, theirs in RENAMES:
        name = name.replace(ours, theirs)
    if "transformer" in name and "norms" in name:
        name = name.replace(".weight", ".gain").replace(".bias", ".shift")
    return name
