"""Evaluation pairs as a pure function of their key: not of the order, the workers or the machine."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol, runtime_checkable

import torch
from jaxtyping import Float
from torch import Tensor

from deepume.datasets.pairs.laws import Law, draw_motion
from deepume.datasets.pairs.scenarios import Clouds, Scenario, draw_clouds
from deepume.datasets.pairs.seeds import generator_for
from deepume.errors import DeepumeError
from deepume.transform import RigidTransform


@runtime_checkable
class Dataset(Protocol):
    """Shapes in a fixed order; the cloud of a shape is the same every time."""

    @property
    def name(self) -> str:
        """Name of the set, part of the key of its pairs."""
        ...

    def __len__(self) -> int:
        """Number of shapes."""
        ...

    def cloud(self, index: int) -> Float[Tensor, "N 3"]:
        """All points of a shape, float64."""
        ...

    def label(self, index: int) -> str:
        """Class or family of a shape."""
        ...

    def shape_name(self, index: int) -> str:
        """Name of a shape, unique in the set."""
        ...


@dataclass(frozen=True, slots=True)
class PairKey:
    """Everything a pair depends on."""

    set: str
    """Name of the data set."""
    scenario: Scenario
    """How the clouds are made."""
    law: Law
    """How the motion is drawn."""
    n: int
    """Points per cloud, before the scenario drops any."""
    index: int
    """Index of the shape in the set."""
    seed: int = 0
    """Another seed, another pair of the same shape."""

    @property
    def text(self) -> str:
        """The key as one line; the seed of the pair is its SHA-256."""
        return f"{self.set}/{self.scenario}/{self.law}/{self.n}/{self.index}/{self.seed}"


@dataclass(frozen=True, slots=True)
class Pair:
    """Two clouds and the motion between them."""

    source: Float[Tensor, "N 3"]
    """The cloud that moves."""
    target: Float[Tensor, "M 3"]
    """The cloud that stays, already moved by the truth."""
    target_from_source: RigidTransform
    """The truth; for two different shapes only how the target was turned."""
    key: PairKey
    """What the pair was made from."""
    name: str
    """Name of the shape; both names for two different shapes."""
    label: str
    """Class or family of the shape."""

    def to(self, device: str | torch.device) -> Pair:
        """The same pair on a device."""
        clouds = self.source.to(device), self.target.to(device)
        return replace(
            self, source=clouds[0], target=clouds[1], target_from_source=self.target_from_source.to(clouds[0])
        )


def make_pair(dataset: Dataset, key: PairKey, *, draw: Callable[..., Clouds] | None = None) -> Pair:
    """The pair of a key: always the same clouds in the same order, and the same truth.

    ``draw`` replaces the scenario's own function in a sweep over its parameters, for example
    ``partial(gaussian, std=0.09)``; the key still seeds it, so that pairs differ only by the parameter.
    """
    if dataset.name != key.set:
        raise DeepumeError(f"The key is for set {key.set!r}, but the set given is {dataset.name!r}.")
    generator = generator_for(key.text)
    motion = draw_motion(key.law, generator=generator)
    name, cloud = dataset.shape_name(key.index), dataset.cloud(key.index)
    if key.scenario is Scenario.DIFFERENT:
        second = _draw_other_index(dataset, key.index, generator=generator)
        name = f"{name} | {dataset.shape_name(second)}"
        clouds = draw_clouds(key.scenario, cloud, key.n, generator=generator, other=dataset.cloud(second))
    elif draw is not None:
        clouds = draw(cloud, key.n, generator=generator)
    else:
        clouds = draw_clouds(key.scenario, cloud, key.n, generator=generator)
    return Pair(clouds[0], motion.apply(clouds[1]), motion, key, name, dataset.label(key.index))


def _draw_other_index(dataset: Dataset, index: int, *, generator: torch.Generator) -> int:
    """A shape of another name and of another family than the shape at ``index``."""
    own = dataset.label(index)
    others = [other for other in range(len(dataset)) if dataset.label(other) != own]
    if not others:
        raise DeepumeError(
            f"All shapes of set {dataset.name!r} are of one family ({own!r}); scenario 'different' needs "
            f"two. Use a set with several families, such as 'procedural'."
        )
    return others[int(torch.randint(len(others), (), generator=generator))]
