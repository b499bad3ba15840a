"""What a registration returns: the pose, the poses that compete with it, and what is known about both."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from typing import Any

import numpy as np
from jaxtyping import Bool, Float

from deepume.arrays import Array, Comparable
from deepume.errors import CloudShapeError
from deepume.transform import RigidTransform, rotation_angle

UNFIT_SCORE = 1.8
"""Clouds that are, on average, this many sampling distances apart do not fit: between the worst that noise made of
right answers on validation shapes (1.6) and what different objects score (2.6)."""

SURE = 0.9
"""Answers of at least this confidence are called sure."""


@dataclass(frozen=True, slots=True, eq=False)
class Hypothesis(Comparable):
    """A candidate pose. In a batch, a pair with fewer candidates than its neighbors has ``score = inf``."""

    target_from_source: RigidTransform
    """The candidate motion."""
    score: Float[Array, "*batch"]
    """Two-sided robust distance in units of the expected sampling distance; lower is better."""
    equivalent: Bool[Array, "*batch"]
    """True where this pose explains the pair as well as the best one does."""


@dataclass(frozen=True, slots=True, eq=False)
class Symmetry(Comparable):
    """Rotation symmetry of the object, in the frame of the target."""

    axes: Float[Array, "A 3"]
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


Combine = Callable[[Sequence[Any]], Any]
"""Makes one value of several of the same kind."""


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Registration(Comparable):
    """Answer of a method for one pair, or for a batch of pairs.

    ``None`` in an optional field means *not estimated*, never a default value.
    """

    target_from_source: RigidTransform
    """Estimated motion: ``target ~ target_from_source.apply(source)``."""
    score: Float[Array, "*batch"]
    """Truth-free quality of the pose, lower is better; about 1 when two samplings of one surface coincide."""
    ambiguous: Bool[Array, "*batch"]
    """True where a different pose explains the pair equally well, or the points leave the pose undetermined.

    Where the symmetry was estimated, only poses that it does not explain count.
    """
    hypotheses: tuple[Hypothesis, ...] = ()
    """Distinct candidate poses, best first."""
    confidence: Float[Array, "*batch"] | None = None
    """Calibrated probability that the pose is right up to the object's own symmetry; None: not estimated."""
    symmetry: Symmetry | None = None
    """Rotation symmetry of the object; None: not estimated."""
    residuals: Float[Array, "*batch N"] | None = None
    """Distance from each moved source point to the nearest target point, in the unit of the target."""
    covariance: Float[Array, "*batch 6 6"] | None = None
    """Covariance of (rotation vector, translation), perturbation on the left; None: not estimated."""
    spacings: Float[Array, "*batch 2"] | None = None
    """Point spacings of source and target, what the score is measured in, in the unit of the target; None: not
    measured."""
    diagnostics: Diagnostics | None = None
    """Facts about the pair; None when a method was called directly, without :func:`deepume.register`."""

    @classmethod
    def of_ranked(
        cls,
        poses: RigidTransform,
        scores: Float[Array, "*batch K"],
        equivalent: Bool[Array, "*batch K"],
        **known: Any,
    ) -> Registration:
        """The result that ranked poses ``(*batch, K)`` give: the first is the answer. ``known``: all other fields."""
        ranks = range(scores.shape[-1])
        hypotheses = tuple(Hypothesis(poses[..., k], scores[..., k], equivalent[..., k]) for k in ranks)
        return cls(poses[..., 0], scores[..., 0], hypotheses=hypotheses, **known)

    @classmethod
    def combine(cls, results: Sequence[Registration], pose: Combine, value: Combine) -> Registration:
        """One result of several with equally many hypotheses, field by field.

        ``pose`` makes one of several motions, ``value`` one of several tensors. Symmetry and diagnostics, which are
        neither, are those of the first.
        """

        def merged(parts: Sequence[Any]) -> Any:
            return None if parts[0] is None else (pose if isinstance(parts[0], RigidTransform) else value)(parts)

        def merge(parts: Sequence[Any], names: Sequence[str]) -> dict[str, Any]:
            return {name: merged([getattr(part, name) for part in parts]) for name in names}

        ranks = zip(*(each.hypotheses for each in results), strict=True)
        hypotheses = tuple(Hypothesis(**merge(rank, HYPOTHESIS_VALUES)) for rank in ranks)
        return replace(results[0], hypotheses=hypotheses, **merge(results, RESULT_VALUES))

    def convert(self, pose: Callable[[Any], Any], value: Callable[[Any], Any]) -> Registration:
        """The same result with every motion and every tensor converted."""
        return self.combine([self], lambda poses: pose(poses[0]), lambda values: value(values[0]))

    def __repr__(self) -> str:
        if self.score.ndim:
            return f"Registration(a batch of shape {tuple(self.score.shape)})"
        trust = "" if self.confidence is None else f", confidence {float(self.confidence):.0%}"
        doubt = ", ambiguous" if bool(self.ambiguous) else ""
        return f"Registration({self.target_from_source}, score {float(self.score):.2f}{trust}{doubt})"

    @property
    def scale(self) -> Array:
        """Target lengths over source lengths; 1 unless a similarity was wanted."""
        return self.target_from_source.scale

    @property
    def sure(self) -> bool:
        """True if one pose, up to symmetry, explains one pair well: by its confidence where that is known."""
        well = float(self.score) < UNFIT_SCORE if self.confidence is None else float(self.confidence) >= SURE
        return well and not bool(self.ambiguous)

    def explain(self) -> str:
        """The result of one pair in plain sentences."""
        if self.score.ndim:
            raise CloudShapeError("explain() is for one pair; take result[i] of a batch first.")
        return " ".join([*_pose_sentences(self), *_trust_sentences(self), *_warning_sentences(self)])

    def __getitem__(self, index: int) -> Registration:
        """Result of one pair of a batch (along its first axis)."""
        return _pick(self, index)

    def to_json(self) -> str:
        """The whole result as JSON text; :meth:`from_json` reads it back without loss."""
        return json.dumps(_to_plain(self), indent=1)

    @classmethod
    def from_json(cls, text: str) -> Registration:
        """Read what :meth:`to_json` wrote."""
        return _result_from_plain(json.loads(text))


HYPOTHESIS_VALUES = tuple(each.name for each in fields(Hypothesis))
RESULT_VALUES = tuple(
    each.name for each in fields(Registration) if each.name not in ("hypotheses", "symmetry", "diagnostics")
)
"""Names of the fields that are a motion or a tensor."""


def _pick(result: Registration, index: int) -> Registration:
    """One pair of a batch; candidates that only its neighbors have are left out."""
    member = result.convert(lambda pose: pose[index], lambda value: value[index])
    present = (each for each in member.hypotheses if each.score.ndim or math.isfinite(each.score))
    return replace(member, hypotheses=tuple(present))


def _pose_sentences(result: Registration) -> list[str]:
    pose = result.target_from_source
    angle = math.degrees(float(rotation_angle(pose.rotation)))
    x, y, z = pose.translation.tolist()
    sentences = [f"The source is turned by {angle:.2f} degrees and moved by ({x:.4g}, {y:.4g}, {z:.4g})."]
    if abs(float(pose.scale) - 1) > 1e-12:
        sentences.append(f"It is scaled by {float(pose.scale):.5g}.")
    return sentences


def _trust_sentences(result: Registration) -> list[str]:
    sentences = [f"Its score is {float(result.score):.2f}: {_fit_in_words(float(result.score))}."]
    if result.confidence is not None:
        sentences.append(f"The pose is right with a probability of {float(result.confidence):.0%}.")
    if result.symmetry is not None and result.symmetry.orders:
        sentences.append(f"The object looks the same when turned {_symmetry_in_words(result.symmetry)}.")
    return sentences + _ambiguity_sentences(result)


def _ambiguity_sentences(result: Registration) -> list[str]:
    rivals = sum(bool(each.equivalent) for each in result.hypotheses[1:])
    named = result.symmetry is not None and bool(result.symmetry.orders)
    if rivals and (bool(result.ambiguous) or not named):
        noun = "another pose fits" if rivals == 1 else f"{rivals} other poses fit"
        why = ", and symmetry does not explain it" if named else ""
        return [f"The answer is ambiguous: {noun} equally well{why}."]
    if bool(result.ambiguous):
        return ["The answer is ambiguous: the points leave part of the pose undetermined."]
    return ["Poses that differ by such a turn are equally right."] if named else []


def _symmetry_in_words(symmetry: Symmetry) -> str:
    """``by 1/4 about (0, 0, 1) and by any angle about (1, 0, 0)``."""
    parts = []
    for axis, order in zip(symmetry.axes.tolist(), symmetry.orders, strict=True):
        direction = ", ".join(f"{value + 0.0:.2f}" for value in axis)
        parts.append(f"{f'by 1/{order}' if order else 'by any angle'} about ({direction})")
    return " and ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)


def _fit_in_words(score: float) -> str:
    """What a score means, in units of the distance expected between two samplings of one surface."""
    if score < 0.05:
        return "the clouds coincide point by point"
    if score < 1.3:
        return "the clouds fit as two samplings of one surface do"
    if score < UNFIT_SCORE:
        return "the clouds fit with noise, or with parts that only one of them has"
    return "the clouds do not fit as wholes, so they show parts, the objects differ, or the pose is probably wrong"


def _warning_sentences(result: Registration) -> list[str]:
    return [] if result.diagnostics is None else [f"Warning: {text}" for text in result.diagnostics.warnings]


def _to_plain(value: object) -> object:
    """Dataclasses, tensors and tuples as what JSON knows."""
    if isinstance(value, np.ndarray | np.generic) or hasattr(value, "detach"):
        return value.tolist()  # pyright: ignore[reportAttributeAccessIssue]
    if isinstance(value, RigidTransform):
        return {**_fields(value), "matrix": value.matrix.tolist()}
    if is_dataclass(value):
        return _fields(value)
    if isinstance(value, tuple | list):
        return [_to_plain(each) for each in value]
    return dict(value) if isinstance(value, Mapping) else value


def _fields(value: object) -> dict[str, object]:
    return {each.name: _to_plain(getattr(value, each.name)) for each in fields(value)}  # pyright: ignore


def _result_from_plain(plain: dict) -> Registration:
    """Read field by field; what a file does not have was not estimated."""
    special = {"hypotheses": _hypotheses, "symmetry": _symmetry, "diagnostics": _diagnostics}
    values = {name: special.get(name, _value)(value) for name, value in plain.items() if value is not None}
    return Registration(**values)


def _value(plain: Any) -> Any:
    """A motion, or a tensor: float64 unless it holds truth values."""
    if isinstance(plain, dict):
        return RigidTransform(*(_value(plain[name]) for name in ("rotation", "translation", "scale")))
    values = np.array(plain)
    return values if values.dtype == bool else values.astype(np.float64)


def _hypotheses(plain: list[dict]) -> tuple[Hypothesis, ...]:
    return tuple(Hypothesis(**{name: _value(value) for name, value in each.items()}) for each in plain)


def _symmetry(plain: dict) -> Symmetry:
    return Symmetry(_value(plain["axes"]).reshape(-1, 3), tuple(plain["orders"]))


def _diagnostics(plain: dict) -> Diagnostics:
    pairs = {name: tuple(value) for name, value in plain.items() if isinstance(value, list)}
    return Diagnostics(**{**plain, **pairs})
