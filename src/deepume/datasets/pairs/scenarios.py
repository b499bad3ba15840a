"""How the two clouds of a pair are made from one shape, before the motion.

Every function takes a shape's points ``(*batch, N, 3)`` and the points per cloud ``n``, and returns source
and target in one frame, each in random order. Functions whose clouds have equal sizes take any batch, on the
device of the generator, without a loop; :func:`bernoulli` and :func:`occlude` draw sizes: one cloud each.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum

import torch
from jaxtyping import Float
from torch import Tensor

from deepume.datasets.pairs.occlusion import occlude
from deepume.datasets.pairs.subsets import (
    draw_kept,
    draw_order,
    draw_points,
    require_points,
    shuffle,
    take,
)
from deepume.errors import CloudValueError
from deepume.transform import Points, Vectors

Clouds = tuple[Float[Tensor, "*batch S 3"], Float[Tensor, "*batch T 3"]]
"""Source and target in one frame; their sizes may differ."""

GAUSSIAN_STD = 0.04
"""Largest standard deviation of the Gaussian scenario; each pair draws its own below it."""
ZERO_NOISE_STD = 0.02
"""Standard deviation of :attr:`Scenario.ZERO_NOISE`, on both clouds."""
OUTLIER_SHARE = 0.1
"""Share of the points of each cloud that :attr:`Scenario.OUTLIERS` replaces."""
OVERLAP_FRACTION = 0.7
"""Fraction of each cloud that :attr:`Scenario.OVERLAP` keeps."""


class Scenario(StrEnum):
    """How the two clouds of a pair are made from one shape."""

    NOISE_FREE = "noise-free"
    """The same n points in both clouds (full intersection)."""
    BERNOULLI = "bernoulli"
    """Two draws of n from the same 2n points, each point kept with the cloud's own probability U[0.2, 1]."""
    ZERO = "zero"
    """No common point: n points for the source, n others for the target."""
    GAUSSIAN = "gaussian"
    """The same n points, target with Gaussian noise of standard deviation U[0, 0.04]."""
    ZERO_NOISE = "zero-noise"
    """Zero intersection, Gaussian noise of standard deviation 0.02 on both."""
    DENSITY = "density"
    """Zero intersection, the target thinned along a random axis."""
    OUTLIERS = "outliers"
    """Zero intersection, 10 % of each cloud replaced by uniform points."""
    OVERLAP = "overlap"
    """Zero intersection, each cloud cropped by its own half-space."""
    OCCLUSION = "occlusion"
    """No common point, each cloud only what its own view point sees."""
    DIFFERENT = "different"
    """Clouds of two different shapes: there is no right answer."""
    PAPER_TRAINING = "paper-training"
    """Two independent draws of n from the same 2n points, as the authors' code trains."""


PARTIAL = (Scenario.OVERLAP, Scenario.OCCLUSION)
"""The clouds show different parts of the shape."""
MISLEADING = (*PARTIAL, Scenario.OUTLIERS, Scenario.DENSITY)
"""A wrong pose can bring such clouds closer than the true pose does: their distance does not tell what is right."""


def draw_clouds(
    scenario: Scenario,
    cloud: Points,
    n: int,
    *,
    generator: torch.Generator,
    other: Float[Tensor, "*batch K 3"] | None = None,
) -> Clouds:
    """Source and target of a scenario, before the motion; ``other`` is the second shape of ``different``."""
    if scenario is not Scenario.DIFFERENT:
        return _DRAWS[scenario](cloud, n, generator=generator)
    if other is None:
        raise CloudValueError("Scenario 'different' needs the points of a second shape: pass other=.")
    return different(cloud, other, n, generator=generator)


def noise_free(cloud: Points, n: int, *, generator: torch.Generator) -> Clouds:
    """The same n points twice, in independent orders."""
    source = draw_points(cloud, n, generator=generator)
    return source, shuffle(source, generator=generator)


def zero(cloud: Points, n: int, *, generator: torch.Generator) -> Clouds:
    """n points, and n other points: no point in common."""
    both = draw_points(cloud, 2 * n, generator=generator)
    return both[..., :n, :], both[..., n:, :]


def paper_training(cloud: Points, n: int, *, generator: torch.Generator) -> Clouds:
    """Two independent draws of n from the same 2n points: about n / 2 points in common."""
    both = draw_points(cloud, 2 * n, generator=generator)
    return both[..., :n, :], draw_points(both, n, generator=generator)


def bernoulli(
    cloud: Float[Tensor, "N 3"],
    n: int,
    *,
    generator: torch.Generator,
    keep: tuple[float, float] | None = None,
) -> Clouds:
    """Two draws of n from the same 2n points, then each point kept with its cloud's probability.

    Probabilities are U[0.2, 1] unless ``keep`` gives (source's, target's). A cloud left with fewer than 200
    points (for n < 1024: the same share, 200 / 1024 of n) is drawn again.
    Differs from the paper: its text keeps points of all 2,048; this is the released code.
    """
    source, target = paper_training(cloud, n, generator=generator)
    first, second = keep or (None, None)
    return _thin(source, first, generator=generator), _thin(target, second, generator=generator)


def _thin(cloud: Float[Tensor, "N 3"], keep: float | None, *, generator: torch.Generator) -> Float[Tensor, "M 3"]:
    n = cloud.shape[-2]
    least = max(3, min(200, 200 * n // 1024, n if keep is None else int(keep * n)))
    if least > (0.2 * n if keep is None else min(keep, 1) * n):
        raise CloudValueError(
            f"Of {n} points too few would be kept for a cloud of {least}. Give a larger n, or keep more."
        )
    while True:
        draws = torch.rand(n + 1, generator=generator, device=cloud.device)
        mask = draws[1:] < (0.2 + 0.8 * draws[0] if keep is None else keep)
        if int(mask.sum()) >= least:
            return cloud[mask]


def gaussian(cloud: Points, n: int, *, generator: torch.Generator, std: float | None = None) -> Clouds:
    """The same n points, the target with Gaussian noise: ``std``, or one U[0, 0.04] for each pair."""
    source, target = noise_free(cloud, n, generator=generator)
    unit = torch.rand(*cloud.shape[:-2], 1, 1, generator=generator, device=cloud.device, dtype=cloud.dtype)
    scale = unit * GAUSSIAN_STD if std is None else std
    return source, target + scale * _noise_like(target, generator=generator)


def zero_noise(cloud: Points, n: int, *, generator: torch.Generator, std: float = ZERO_NOISE_STD) -> Clouds:
    """Zero intersection with Gaussian noise on both clouds."""
    source, target = zero(cloud, n, generator=generator)
    source = source + std * _noise_like(source, generator=generator)
    return source, target + std * _noise_like(target, generator=generator)


def density(cloud: Points, n: int, *, generator: torch.Generator) -> Clouds:
    """Uniform source; target of other points, kept with probability 1 / (1 + exp(-4 h / std(h))).

    h is the height over the centroid along a random axis. The target is chosen from all N - n points that
    the source leaves. It has n points where enough are kept (about half are: N >= 3.5 n is safe), else as
    many as the least of the batch: never a point that was not kept.
    """
    require_points(cloud, 2 * n)
    order = draw_order(cloud, generator=generator)
    rest = take(cloud, order[..., n:])
    height = _heights(rest - rest.mean(-2, keepdim=True), _draw_axis(cloud, generator=generator))
    chance = torch.sigmoid(4 * height / height.std(-1, keepdim=True).clamp_min(1e-12))
    keep = torch.rand(chance.shape, generator=generator, device=cloud.device) < chance
    return take(cloud, order[..., :n]), take(rest, draw_kept(keep, n, generator=generator))


def outliers(cloud: Points, n: int, *, generator: torch.Generator, share: float = OUTLIER_SHARE) -> Clouds:
    """Zero intersection; ``share`` of the n points of each cloud uniform in the doubled bounding cube."""
    low, high = cloud.amin(-2, keepdim=True), cloud.amax(-2, keepdim=True)
    side = 2 * (high - low).amax(-1, keepdim=True)
    clouds = []
    for kept in zero(cloud, n, generator=generator):
        count = round(share * n)
        unit = torch.rand(*kept.shape[:-2], count, 3, generator=generator, device=kept.device, dtype=kept.dtype)
        strays = (low + high) / 2 + side * (unit - 0.5)
        clouds.append(shuffle(torch.cat([kept[..., count:, :], strays], -2), generator=generator))
    return clouds[0], clouds[1]


def overlap(cloud: Points, n: int, *, generator: torch.Generator, fraction: float = OVERLAP_FRACTION) -> Clouds:
    """Zero intersection, then each cloud cropped by its own random half-space to ``fraction * n`` points."""
    source, target = zero(cloud, n, generator=generator)
    return _crop(source, fraction, generator=generator), _crop(target, fraction, generator=generator)


def different(cloud: Points, other: Float[Tensor, "*batch K 3"], n: int, *, generator: torch.Generator) -> Clouds:
    """n points of one shape and n of another."""
    return draw_points(cloud, n, generator=generator), draw_points(other, n, generator=generator)


def _crop(cloud: Points, fraction: float, *, generator: torch.Generator) -> Float[Tensor, "*batch M 3"]:
    height = _heights(cloud, _draw_axis(cloud, generator=generator))
    kept = height.topk(round(fraction * cloud.shape[-2]), dim=-1).indices
    return shuffle(take(cloud, kept), generator=generator)


def _draw_axis(cloud: Points, *, generator: torch.Generator) -> Vectors:
    axis = torch.randn(*cloud.shape[:-2], 3, generator=generator, device=cloud.device, dtype=cloud.dtype)
    return axis / axis.norm(dim=-1, keepdim=True)


def _heights(cloud: Points, axis: Vectors) -> Float[Tensor, "*batch N"]:
    return (cloud @ axis[..., None]).squeeze(-1)


def _noise_like(cloud: Points, *, generator: torch.Generator) -> Points:
    return torch.randn(cloud.shape, generator=generator, device=cloud.device, dtype=cloud.dtype)


_DRAWS: dict[Scenario, Callable[..., Clouds]] = {
    Scenario.NOISE_FREE: noise_free,
    Scenario.BERNOULLI: bernoulli,
    Scenario.ZERO: zero,
    Scenario.GAUSSIAN: gaussian,
    Scenario.ZERO_NOISE: zero_noise,
    Scenario.DENSITY: density,
    Scenario.OUTLIERS: outliers,
    Scenario.OVERLAP: overlap,
    Scenario.OCCLUSION: occlude,
    Scenario.PAPER_TRAINING: paper_training,
}
