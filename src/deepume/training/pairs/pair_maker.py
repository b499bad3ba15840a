"""Batches of pairs, made on the device: no loop over the batch, no copy to or from the host.

A scenario is a rule for which points each cloud may take. Every point of a shape gets a random key for each cloud;
forbidden points get a larger one, and a cloud takes the points with the smallest keys. So pairs of different
scenarios stand in one batch, and all clouds of a batch have the same size.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from deepume.datasets.pairs.laws import draw_motion
from deepume.datasets.pairs.scenarios import GAUSSIAN_STD, OUTLIER_SHARE, OVERLAP_FRACTION, ZERO_NOISE_STD, Scenario
from deepume.training.pairs.bank import ShapeBank
from deepume.training.recipes.recipe import TRAINABLE_SCENARIOS, Recipe
from deepume.transform import Points, Rotations, Source, Target, Vectors


@dataclass(frozen=True, slots=True)
class Pairs:
    """A batch of pairs. The truth is there to make starts and to measure, never as a label of a loss."""

    source: Source
    """Clouds that move."""
    target: Target
    """Clouds that stay."""
    rotation: Rotations
    """True rotation: ``target ~ source @ rotation.mT + translation``."""
    translation: Vectors
    """True translation."""
    dense_source: Float[Tensor, "B K 3"]
    """Noise-free points of the same shape in the frame of the source: the source's own and then others."""
    dense_target: Float[Tensor, "B K 3"]
    """The same in the frame of the target; none of these points is in the source."""
    loss_source: Float[Tensor, "B P 3"]
    """What a loss moves: the source, or points of the shape without noise, as the recipe says."""
    loss_target: Float[Tensor, "B Q 3"]
    """What a loss compares it with: the target, or points of the shape some of which are those it moves."""
    equivalents: Float[Tensor, "B 24 3 3"]
    """The true rotation after each exchange of the shape's principal axes."""
    is_equivalent: Bool[Tensor, "B 24"]
    """Which of these are as correct as the true one, by the shape's symmetry; the first always is."""

    def __len__(self) -> int:
        return len(self.source)


@dataclass(frozen=True, slots=True)
class PairMaker:
    """Draws the batches of a recipe from a bank."""

    bank: ShapeBank
    recipe: Recipe
    host: torch.Generator
    """Draws sizes, on the host."""
    generator: torch.Generator
    """Draws everything else, on the device."""

    def draw(self) -> Pairs:
        """The next batch."""
        source_size, target_size = self._draw_sizes()
        count = self.recipe.batch_at(max(source_size, target_size))
        return self.draw_sized(count, source_size, target_size)

    def draw_sized(self, count: int, source_size: int, target_size: int) -> Pairs:
        """A batch of given sizes."""
        scenarios = _draw_scenarios(self.recipe, count, generator=self.generator)
        dense = self.recipe.score_points
        rows = self.bank.draw(count, generator=self.generator)
        shape = self.bank.coordinates(rows)
        symmetric = self.bank.symmetric[rows]
        if self.recipe.stretch:
            shape = stretch_shapes(shape, self.recipe.stretch, generator=self.generator)
            symmetric = symmetric & _only_first(symmetric)
        kinds = {scenario for scenario, _ in self.recipe.scenarios}
        clouds = draw_clouds(shape, scenarios, kinds, source_size, target_size, generator=self.generator)
        motion = draw_motion(self.recipe.law, count, generator=self.generator, dtype=torch.float32)
        rotation, translation = motion.rotation, motion.translation
        compared = self._compared(shape, clouds)
        return Pairs(
            clouds.source,
            _move(clouds.target, rotation, translation),
            rotation,
            translation,
            _take(shape, clouds.order[:, :dense]),
            _move(_take(shape, clouds.order[:, -dense:]), rotation, translation),
            compared.source,
            _move(compared.target, rotation, translation),
            rotation.unsqueeze(-3) @ self.bank.turns[rows],
            symmetric,
        )

    def _compared(self, shape: Float[Tensor, "B N 3"], clouds: Clouds) -> Clouds:
        """The clouds of the loss: those the network sees, or two draws from the shape that share some points."""
        count = self.recipe.loss_points
        if not count:
            return clouds
        first = count - round(self.recipe.loss_shared * count)
        source, target = clouds.order[:, :count], clouds.order[:, first : first + count]
        return Clouds(_take(shape, source), _take(shape, target), clouds.order)

    def _draw_sizes(self) -> tuple[int, int]:
        sizes = [size for size, _ in self.recipe.points]
        shares = torch.tensor([share for _, share in self.recipe.points])
        first, second = (sizes[k] for k in torch.multinomial(shares, 2, True, generator=self.host).tolist())
        unequal = float(torch.rand((), generator=self.host)) < self.recipe.unequal
        return first, second if unequal else first


def stretch_shapes(shape: Float[Tensor, "B N 3"], most: float, *, generator: torch.Generator) -> Float[Tensor, "B N 3"]:
    """Each shape shorter along a random axis by a share of up to ``most``, in the unit sphere again."""
    axis = _draw_axis(shape, generator=generator)
    share = most * torch.rand(len(shape), 1, 1, generator=generator, device=shape.device)
    flat = shape - share * (shape @ axis) @ axis.mT
    centered = flat - flat.mean(-2, keepdim=True)
    return centered / centered.norm(dim=-1, keepdim=True).amax(-2, keepdim=True)


def _only_first(symmetric: Bool[Tensor, "B 24"]) -> Bool[Tensor, " 24"]:
    """No turn but the identity: a shape stretched along a random axis has no other symmetry."""
    return torch.arange(symmetric.shape[-1], device=symmetric.device) == 0


def _draw_scenarios(recipe: Recipe, count: int, *, generator: torch.Generator) -> Int[Tensor, " count"]:
    """Positions in TRAINABLE_SCENARIOS, one for each pair."""
    unit = torch.rand(count, generator=generator, device=generator.device)
    total = sum(share for _, share in recipe.scenarios)
    chosen, reached = torch.zeros_like(unit, dtype=torch.long), 0.0
    for scenario, share in recipe.scenarios:
        chosen = torch.where(unit >= reached, TRAINABLE_SCENARIOS.index(scenario), chosen)
        reached += share / total
    return chosen


@dataclass(frozen=True, slots=True)
class _Mix:
    """Which scenario each pair of a batch is of, and which can occur at all."""

    scenarios: Int[Tensor, " B"]
    kinds: set[Scenario]

    def of(self, *names: Scenario) -> Bool[Tensor, "B 1"]:
        """True for the pairs of these scenarios."""
        codes = [TRAINABLE_SCENARIOS.index(name) for name in names]
        return torch.stack([self.scenarios == code for code in codes]).any(0).unsqueeze(-1)

    def can_be(self, *names: Scenario) -> bool:
        """Whether any of these can occur; what belongs to the others is not computed."""
        return bool(self.kinds.intersection(names))


class Clouds(NamedTuple):
    """Clouds of a batch in the frame of their shapes."""

    source: Float[Tensor, "B S 3"]
    target: Float[Tensor, "B T 3"]
    order: Int[Tensor, "B N"]
    """Every point of the shape once, in random order: the source has the first of them."""


def draw_clouds(
    shape: Float[Tensor, "B N 3"],
    scenarios: Int[Tensor, " B"],
    kinds: set[Scenario],
    source_size: int,
    target_size: int,
    *,
    generator: torch.Generator,
) -> Clouds:
    """Source and target of each shape in one frame, by the scenario of each; ``kinds`` are those that can occur.

    Differs from :mod:`deepume.datasets.pairs.scenarios`, which serves evaluation: clouds keep their size whatever is
    cropped or thinned, and where too few points are allowed the rest is filled from the others.
    """
    mix = _Mix(scenarios, kinds)
    order, target_rows = _choose(shape, mix, source_size, target_size, generator=generator)
    source, target = _take(shape, order[:, :source_size]), _take(shape, target_rows)
    return Clouds(*_disturb(source, target, shape, mix, generator=generator), order)


def _choose(
    shape: Float[Tensor, "B N 3"], mix: _Mix, source_size: int, target_size: int, *, generator: torch.Generator
) -> tuple[Int[Tensor, "B N"], Int[Tensor, "B T"]]:
    """All points in an order whose first the source takes, and those that the target takes: the smallest keys."""
    source_keys, target_keys = _draw_like(shape, generator), _draw_like(shape, generator)
    if mix.can_be(Scenario.OVERLAP):
        source_keys = source_keys + 1.0 * (mix.of(Scenario.OVERLAP) & _cropped(shape, generator=generator))
        target_keys = target_keys + 1.0 * (mix.of(Scenario.OVERLAP) & _cropped(shape, generator=generator))
    if mix.can_be(Scenario.DENSITY):
        target_keys = target_keys + 1.0 * (mix.of(Scenario.DENSITY) & _thinned(shape, generator=generator))
    in_order, order = source_keys.sort(-1)
    in_source = source_keys <= in_order[:, source_size - 1, None]
    in_pool = source_keys <= in_order[:, source_size + target_size - 1, None]
    shared, pooled = mix.of(Scenario.NOISE_FREE, Scenario.GAUSSIAN), mix.of(Scenario.PAPER_TRAINING)
    forbidden = (shared & ~in_source) | (pooled & ~in_pool) | (~(shared | pooled) & in_source)
    chosen = (target_keys + 2.0 * forbidden).topk(target_size, largest=False).indices
    return order, chosen


def _disturb(
    source: Float[Tensor, "B S 3"],
    target: Float[Tensor, "B T 3"],
    shape: Float[Tensor, "B N 3"],
    mix: _Mix,
    *,
    generator: torch.Generator,
) -> tuple[Float[Tensor, "B S 3"], Float[Tensor, "B T 3"]]:
    """Noise and outliers, for the pairs whose scenario has them."""
    if mix.can_be(Scenario.GAUSSIAN, Scenario.ZERO_NOISE):
        both = ZERO_NOISE_STD * mix.of(Scenario.ZERO_NOISE)
        own = GAUSSIAN_STD * _draw_like(shape[:, :1], generator) * mix.of(Scenario.GAUSSIAN)
        source = source + both.unsqueeze(-1) * _noise_like(source, generator)
        target = target + (both + own).unsqueeze(-1) * _noise_like(target, generator)
    if mix.can_be(Scenario.OUTLIERS):
        is_stray = mix.of(Scenario.OUTLIERS)
        source = _with_strays(source, shape, is_stray, generator=generator)
        target = _with_strays(target, shape, is_stray, generator=generator)
    return source, target


def _cropped(shape: Float[Tensor, "B N 3"], *, generator: torch.Generator) -> Bool[Tensor, "B N"]:
    """True for the points that a random half-space cuts off."""
    height = _draw_heights(shape, generator=generator)
    limit = height.kthvalue(round((1 - OVERLAP_FRACTION) * shape.shape[-2]), dim=-1, keepdim=True).values
    return height <= limit


def _thinned(shape: Float[Tensor, "B N 3"], *, generator: torch.Generator) -> Bool[Tensor, "B N"]:
    """True for the points that a density gradient along a random axis drops."""
    height = _draw_heights(shape, generator=generator)
    chance = torch.sigmoid(4 * height / height.std(-1, keepdim=True).clamp_min(1e-6))
    return _draw_like(shape, generator) > chance


def _draw_heights(shape: Float[Tensor, "B N 3"], *, generator: torch.Generator) -> Float[Tensor, "B N"]:
    centered = shape - shape.mean(-2, keepdim=True)
    return (centered @ _draw_axis(shape, generator=generator)).squeeze(-1)


def _draw_axis(shape: Float[Tensor, "B N 3"], *, generator: torch.Generator) -> Float[Tensor, "B 3 1"]:
    axis = torch.randn(len(shape), 3, 1, generator=generator, device=shape.device)
    return axis / axis.norm(dim=-2, keepdim=True)


def _with_strays(
    cloud: Float[Tensor, "B M 3"],
    shape: Float[Tensor, "B N 3"],
    is_stray: Bool[Tensor, "B 1"],
    *,
    generator: torch.Generator,
) -> Float[Tensor, "B M 3"]:
    """The first tenth of the points of chosen pairs replaced by uniform ones in the doubled bounding cube."""
    low, high = shape.amin(-2, keepdim=True), shape.amax(-2, keepdim=True)
    unit = torch.rand(cloud.shape, generator=generator, device=cloud.device)
    strays = (low + high) / 2 + 2 * (high - low).amax(-1, keepdim=True) * (unit - 0.5)
    first = torch.arange(cloud.shape[-2], device=cloud.device) < round(OUTLIER_SHARE * cloud.shape[-2])
    return torch.where((is_stray & first).unsqueeze(-1), strays, cloud)


def _draw_like(shape: Float[Tensor, "B N 3"], generator: torch.Generator) -> Float[Tensor, "B N"]:
    return torch.rand(shape.shape[:-1], generator=generator, device=shape.device)


def _noise_like(cloud: Points, generator: torch.Generator) -> Points:
    return torch.randn(cloud.shape, generator=generator, device=cloud.device)


def _take(points: Points, indices: Int[Tensor, "*batch K"]) -> Float[Tensor, "*batch K 3"]:
    return torch.take_along_dim(points, indices.unsqueeze(-1), dim=-2)


def _move(points: Float[Tensor, "B K 3"], rotation: Rotations, translation: Vectors) -> Float[Tensor, "B K 3"]:
    return points @ rotation.mT + translation.unsqueeze(-2)
