"""From two checked clouds to an answer: normalize, run the method, refine, compare, and undo the normalization."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from deepume.alignment.polish import polish
from deepume.alignment.ranking import rank_hypotheses
from deepume.arrays import Array, as_like, namespace, to_numpy
from deepume.geometry.rotation import nearest_rotation
from deepume.methods.entry import MethodEntry
from deepume.result import Registration
from deepume.search.pair import PairFrame
from deepume.search.policy import Effort
from deepume.transform import RigidTransform, Source, Target


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
    """What the caller wants of one registration."""

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


def register_pair(
    source: Source, target: Target, entry: MethodEntry, settings: Settings, watch: Stopwatch
) -> Registration:
    """Run a method on one pair or on a batch; the answer is in the unit of the target."""
    if entry.anytime and not settings.allow_scale:  # it frames the pair itself, and ranks the initial pose
        with watch.stage("method"):
            return entry.make(settings.effort, settings.time_limit, settings.initial)(source, target)
    with watch.stage("normalize"):
        frame = PairFrame.around(source, target, centered=entry.centered, own_units=settings.allow_scale)
        clouds = frame.enter_clouds(source, target)
    with watch.stage("method"):
        result = (entry.make(settings.effort, settings.time_limit) if entry.anytime else entry.make())(*clouds)
    with watch.stage("refine"):
        given = None if settings.initial is None else frame.enter(settings.initial)
        result = _refine(result, *clouds, given, entry, settings)
    return frame.leave_result(result)


def _refine(
    result: Registration,
    source: Source,
    target: Target,
    given: RigidTransform | None,
    entry: MethodEntry,
    settings: Settings,
) -> Registration:
    """Refine the method's hypotheses and the caller's pose as far as requested, and choose by score."""
    finished = entry.refined and not settings.allow_scale
    if given is None and (finished or not settings.refine):
        return result
    found = [each.target_from_source for each in result.hypotheses]
    rough = ([] if finished else found) + ([] if given is None else [given])
    poses = RigidTransform.stack(rough)
    if settings.refine:
        poses = polish(source, target, poses, allow_scale=settings.allow_scale)
    if finished:
        poses = RigidTransform.concatenate([RigidTransform.stack(found), poses])
    return rank_hypotheses(source, target, poses)


def to_kind(result: Registration, like: Array) -> Registration:
    """The same result as arrays of the kind, the precision and the place of another."""

    def pose(motion: RigidTransform) -> RigidTransform:
        moved = motion.to(like)
        rotation = moved.rotation if like.dtype == namespace(like).float64 else nearest_rotation(moved.rotation)
        return RigidTransform(rotation, moved.translation, moved.scale)

    def value(array: Array) -> Array:
        number = to_numpy(array)
        return as_like(number, like) > 0 if number.dtype == bool else as_like(number, like)

    symmetry = result.symmetry and replace(result.symmetry, axes=as_like(result.symmetry.axes, like))
    return replace(result.convert(pose, value), symmetry=symmetry)
