"""What a registration returns: the pose, the poses that compete with it, and what is known about both."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, is_dataclass, replace
from typing import Protocol

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from deepume.transform import RigidTransform
from deepume.types import Points


@dataclass(frozen=True, slots=True)
class Hypothesis:
    """A candidate pose. In a batch, a pair with fewer candidates than its neighbors has ``score = inf``."""

    target_from_source: RigidTransform
    """The candidate motion."""
    score: Float[Tensor, "*batch"]
    """Two-sided robust distance in units of the expected sampling distance; lower is better."""
    equivalent: Bool[Tensor, "*batch"]
    """True where this pose explains the pair as well as the best one does."""


@dataclass(frozen=True, slots=True)
class Symmetry:
    """Rotation symmetry of the object, in the frame of the target."""

    axes: Float[Tensor, "A 3"]
    """Unit vectors along the axes."""
    orders: tuple[int, ...]
    """Order of each axis; 0 stands for continuous (a solid of revolution)."""


@dataclass(frozen=True, slots=True)
class Diagnostics:
    """Facts about the pair that explain an answer; all of them are known without the truth."""

    source_size: int
    """Points of the source that were used."""
    target_size: int
    """Points of the target that were used."""
    extent_ratio: float
    """Root-mean-square radius of the target over that of the source."""
    unit_guess: str | None
    """Unit conversion that the extent ratio suggests, such as ``"millimeters to meters"``; None if none."""
    source_eigenvalue_gaps: tuple[float, float]
    """Relative gaps of the source's principal variances, 1 - second/first and 1 - third/second."""
    target_eigenvalue_gaps: tuple[float, float]
    """The same for the target. Near 0: the axes are interchangeable and principal frames are unstable."""
    density_ratio: float
    """Point spacing of the source over that of the target, both in the target's unit."""
    method: str
    """Name of the method that gave the answer."""
    warnings: tuple[str, ...] = ()
    """Whole sentences for the user: units, planarity, dropped points."""
    seconds: Mapping[str, float] = field(default_factory=dict)
    """Wall-clock seconds per stage."""


@dataclass(frozen=True, slots=True)
class Registration:
    """Answer of a method for one pair, or for a batch of pairs.

    ``None`` in an optional field means *not estimated*, never a default value.
    """

    target_from_source: RigidTransform
    """Estimated motion: ``target ~ target_from_source.apply(source)``."""
    score: Float[Tensor, "*batch"]
    """Truth-free quality of the pose, lower is better; about 1 when two samplings of one surface coincide."""
    ambiguous: Bool[Tensor, "*batch"]
    """True where a different pose explains the pair equally well, or the points leave the pose undetermined."""
    hypotheses: tuple[Hypothesis, ...] = ()
    """Distinct candidate poses, best first."""
    confidence: Float[Tensor, "*batch"] | None = None
    """Calibrated probability that the pose is right up to the object's own symmetry; None: not estimated."""
    symmetry: Symmetry | None = None
    """Rotation symmetry of the object; None: not estimated."""
    residuals: Float[Tensor, "*batch N"] | None = None
    """Distance from each moved source point to the nearest target point, in the unit of the target."""
    covariance: Float[Tensor, "*batch 6 6"] | None = None
    """Covariance of (rotation vector, translation), perturbation on the left; None: not estimated."""
    diagnostics: Diagnostics | None = None
    """Facts about the pair; None when a method was called directly, without :func:`deepume.register`."""

    @property
    def scale(self) -> Tensor:
        """Target lengths over source lengths; 1 unless a similarity was asked for."""
        return self.target_from_source.scale

    def explain(self) -> str:
        """The result of one pair in plain sentences."""
        return " ".join(_sentences(self))

    def to_json(self) -> str:
        """The whole result as JSON text; :meth:`from_json` reads it back without loss."""
        return json.dumps(_plain(self), indent=2)

    @classmethod
    def from_json(cls, text: str) -> Registration:
        """Read what :meth:`to_json` wrote."""
        return _registration_from_plain(json.loads(text))


class Method(Protocol):
    """Anything that maps a source and a target to a registration, batched over leading axes."""

    def __call__(self, source: Points, target: Points) -> Registration:
        """Register ``(*batch, N, 3)`` to ``(*batch, M, 3)``."""
        ...
