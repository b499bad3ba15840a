"""From two checked clouds to an answer: normalize, run the method, refine, compare, and undo the normalization."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property

import torch
from torch import Tensor

from deepume.alignment.polish import polish
from deepume.alignment.score import rank_hypotheses
from deepume.geometry.clouds import centroid, rms_radius
from deepume.methods.entry import Method, MethodEntry
from deepume.result import Hypothesis, Registration
from deepume.search.policy import Effort
from deepume.transform import RigidTransform, Source, Target, move_covariance


@dataclass(slots=True)
class Stopwatch:
    """Wall-clock seconds per stage."""

    seconds: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Add the time spent inside to the named stage."""
        start = time.perf_counter()
        yield
        self.seconds[name] = self.seconds.get(name, 0.0) + time.perf_counter() - start


@dataclass(frozen=True, slots=True)
class Settings:
    """What the caller asked of one registration."""

    refine: bool = True
    """Refine what the method found."""
    initial: RigidTransform | None = None
    """A pose of the caller's that joins the hypotheses."""
    allow_scale: bool = False
    """Estimate a similarity: the clouds may differ in size."""
    effort: Effort = Effort.AUTO
    """How far an anytime method searches."""
    time_limit: float | None = None
    """Seconds after which an anytime method begins no further stage."""


@dataclass(frozen=True)
class NormalizedPair:
    """Both clouds near the origin and of about unit size, with the way back."""

    source: Source
    target: Target
    source_from_normal: RigidTransform
    target_from_normal: RigidTransform

    def to_normal(self, target_from_source: RigidTransform) -> RigidTransform:
        """A pose of the original clouds, for the normalized ones."""
        return self.target_from_normal.inverse() @ target_from_source @ self.source_from_normal

    def from_normal(self, pose: RigidTransform) -> RigidTransform:
        """A pose of the normalized clouds, for the original ones."""
        return self.target_from_normal @ pose @ self._normal_from_source

    @cached_property
    def _normal_from_source(self) -> RigidTransform:
        return self.source_from_normal.inverse()


def normalize_pair(source: Source, target: Target, entry: MethodEntry, settings: Settings) -> NormalizedPair:
    """Center each cloud and divide both by one length, or each by its own where a similarity is sought."""
    source_origin, target_origin = centroid(source), centroid(target)
    if not entry.centered:
        source_origin = target_origin = (source_origin + target_origin) / 2
    source_unit, target_unit = rms_radius(source), rms_radius(target)
    if not settings.allow_scale:
        source_unit = target_unit = torch.maximum(source_unit, target_unit)
    source_from_normal = _to_origin(source_origin, source_unit)
    target_from_normal = _to_origin(target_origin, target_unit)
    # Subtract first: the inverse motions would subtract two huge numbers where clouds lie far from the origin.
    return NormalizedPair(
        (source - source_origin.unsqueeze(-2)) / source_unit[..., None, None],
        (target - target_origin.unsqueeze(-2)) / target_unit[..., None, None],
        source_from_normal,
        target_from_normal,
    )


def _to_origin(origin: Tensor, unit: Tensor) -> RigidTransform:
    """``original = unit * normal + origin``."""
    rotation = torch.eye(3, dtype=origin.dtype, device=origin.device).expand(*origin.shape[:-1], 3, 3)
    return RigidTransform(rotation, origin, unit)


def register_pair(
    source: Source, target: Target, entry: MethodEntry, settings: Settings, watch: Stopwatch
) -> Registration:
    """Run a method on one pair or on a batch; the answer is in the unit of the target."""
    with watch.stage("normalize"):
        pair = normalize_pair(source, target, entry, settings)
    with watch.stage("method"):
        result = _make_method(entry, pair, settings)(pair.source, pair.target)
    with watch.stage("refine"):
        result = _refine(result, pair, entry, settings)
    return _restore(result, pair, settings)


def _make_method(entry: MethodEntry, pair: NormalizedPair, settings: Settings) -> Method:
    """The method as the caller wants it; an anytime method weighs the caller's pose itself."""
    if not entry.anytime:
        return entry.make()
    initial = None if settings.initial is None or settings.allow_scale else pair.to_normal(settings.initial)
    return entry.make(settings.effort, settings.time_limit, initial)


def _refine(result: Registration, pair: NormalizedPair, entry: MethodEntry, settings: Settings) -> Registration:
    """Refine the method's hypotheses and the caller's pose as far as asked for, and choose by score."""
    found = [each.target_from_source for each in result.hypotheses]
    given = [] if settings.initial is None else [pair.to_normal(settings.initial)]
    finished = entry.refined and not settings.allow_scale
    if finished and entry.anytime:
        return result
    rough = given if finished else found + given
    if not given and (finished or not settings.refine):
        return result
    poses = RigidTransform.stack(rough)
    if settings.refine:
        poses = polish(pair.source, pair.target, poses, allow_scale=settings.allow_scale)
    if finished:
        poses = RigidTransform.concatenate([RigidTransform.stack(found), poses])
    return rank_hypotheses(pair.source, pair.target, poses)


def _restore(result: Registration, pair: NormalizedPair, settings: Settings) -> Registration:
    """The same result for the original clouds."""

    def restored(pose: RigidTransform) -> RigidTransform:
        back = pair.from_normal(pose)
        return back if settings.allow_scale else RigidTransform(back.rotation, back.translation)

    def lengths(value: Tensor | None) -> Tensor | None:
        return None if value is None else value * pair.target_from_normal.scale.unsqueeze(-1)

    covariance = result.covariance
    if covariance is not None:
        covariance = move_covariance(covariance, pair.target_from_normal)
    return replace(
        result,
        target_from_source=restored(result.target_from_source),
        hypotheses=tuple(
            Hypothesis(restored(each.target_from_source), each.score, each.equivalent) for each in result.hypotheses
        ),
        residuals=lengths(result.residuals),
        covariance=covariance,
        spacings=lengths(result.spacings),
    )
