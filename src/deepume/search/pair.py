"""Two clouds as the search sees them, and the way back: units, origins, strays, thinning, and who is the source."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float

from deepume.alignment.gicp import GicpSettings, align_clouds
from deepume.alignment.nearest_points import IcpSettings, align_nearest
from deepume.alignment.ranking import Ranking
from deepume.alignment.score import NEAREST, Fit, Measure, Side, chance_of
from deepume.arrays import Array, as_like, lower_median, namespace, smallest_number, to_doubles
from deepume.geometry.clouds import centroid, rms_radius
from deepume.geometry.searchable import IndexedCloud, Thinning, thin_by_radius, thin_evenly
from deepume.result import Registration
from deepume.search.policy import Policy, Strays
from deepume.transform import RigidTransform, Source, Target, Vectors, move_covariance


@dataclass(frozen=True)
class CloudPair:
    """Two clouds about their centroids, in one unit, and smaller versions of them; poses are those of the pair."""

    source: IndexedCloud
    target: IndexedCloud
    policy: Policy

    def swapped(self) -> CloudPair:
        """The same clouds, the other one called source."""
        return CloudPair(self.target, self.source, self.policy)

    @cached_property
    def ordered(self) -> CloudPair:
        """The pair as the search names it: what is found must not depend on which cloud the caller calls source."""
        sizes = ((len(each.points), float(rms_radius(each.points))) for each in (self.source, self.target))
        return self.swapped() if next(sizes) > next(sizes) else self

    @cached_property
    def chance(self) -> float:
        """How far, relatively, sampling alone moves the score of a right pose (three standard deviations)."""
        return chance_of(len(self.source.points) + len(self.target.points))

    def margin(self, level: float) -> float:
        """How much worse a score may be, as a part of it, at a level of :class:`~deepume.search.policy.Doubt`."""
        return level * self.chance

    @cached_property
    def smaller_size(self) -> int:
        """Points of the smaller cloud."""
        return min(len(self.source.points), len(self.target.points))

    @property
    def dense(self) -> bool:
        """True where neighborhoods are small against the object, so that normals mean something."""
        return self.smaller_size >= self.policy.dense_points

    @property
    def searched_whole(self) -> bool:
        """True where the search leaves no point out."""
        return max(len(self.source.points), len(self.target.points)) <= self.policy.search_points

    @cached_property
    def for_search(self) -> CloudPair:
        """The pair with at most ``search_points`` points in each cloud."""
        return self._thinned(thin_by_radius, self.policy.search_points)

    @cached_property
    def quick(self) -> CloudPair:
        """The pair with at most ``quick_points`` points in each cloud, if it is dense."""
        return self._thinned(thin_by_radius, self.policy.quick_points) if self.dense else self

    @cached_property
    def coarse(self) -> CloudPair:
        """The pair with at most ``coarse_points`` points in each cloud, evenly spread whatever the density."""
        return self._thinned(thin_evenly, self.policy.coarse_points)

    def _thinned(self, thin: Thinning, count: int) -> CloudPair:
        return CloudPair(self.source.thinned(thin, count), self.target.thinned(thin, count), self.policy)

    def fit(self, poses: RigidTransform, queries: CloudPair | None = None) -> Fit[IndexedCloud]:
        """The pair laid together by one or more poses; with ``queries``, only points of that smaller pair count."""
        queries = queries or self
        forward = Side(queries.source, self.target, poses)
        return Fit(forward, Side(queries.target, self.source, poses.inverse()))

    def score(
        self, poses: RigidTransform, measure: Measure = NEAREST, queries: CloudPair | None = None
    ) -> Float[np.ndarray, "K"]:
        """:func:`deepume.alignment.score.score_poses` with trees at hand; with fewer ``queries``, an estimate."""
        return self.fit(poses, queries).by(measure)

    def rank(self, poses: RigidTransform) -> Ranking:
        """The distinct ones of many poses, with their scores on this pair."""
        return Ranking.of(poses, self.score(poses))

    def gicp(self, poses: RigidTransform, settings: GicpSettings) -> RigidTransform:
        """Poses after GICP; clouds without neighborhoods are left to ICP."""
        if self.smaller_size <= settings.neighbors:
            return self.icp(poses, IcpSettings())
        return align_clouds(self.source, self.target, poses, settings)

    def icp(self, poses: RigidTransform, settings: IcpSettings) -> RigidTransform:
        """Poses after two-sided ICP."""
        return align_nearest(self.source, self.target, poses, settings)

    def refine(self, poses: RigidTransform) -> RigidTransform:
        """Poses near enough to an optimum of the score to be compared."""
        if self.dense:
            return self.gicp(poses, self.policy.whole_gicp)
        return self.icp(poses, self.policy.whole_icp)


@dataclass(frozen=True, slots=True)
class PairFrame:
    """What is taken away from two clouds before they are registered, and given back to the answer."""

    source_origin: Vectors
    target_origin: Vectors
    source_unit: Float[Array, "*batch"]
    target_unit: Float[Array, "*batch"]
    own_units: bool
    """True where each cloud has a unit of its own, and poses a scale."""

    @classmethod
    def around(cls, source: Source, target: Target, *, centered: bool = True, own_units: bool = False) -> PairFrame:
        """Each cloud about its centroid, both in the unit of the larger one, or each in its own.

        Not ``centered``, both are seen from one place, so that it still matters where they lie.
        """
        source_origin, target_origin = centroid(source), centroid(target)
        if not centered:
            source_origin = target_origin = (source_origin + target_origin) / 2
        source_unit, target_unit = rms_radius(source), rms_radius(target)
        if not own_units:
            xp, smallest = namespace(source_unit), smallest_number(source)
            source_unit = target_unit = xp.clip(xp.maximum(source_unit, target_unit), min=smallest)
        return cls(source_origin, target_origin, source_unit, target_unit, own_units)

    def enter_clouds(self, source: Source, target: Target) -> tuple[Source, Target]:
        """Both clouds in this frame. Subtracts first: far from the origin, huge numbers lose the digits that matter."""
        return (
            (source - self.source_origin[..., None, :]) / self.source_unit[..., None, None],
            (target - self.target_origin[..., None, :]) / self.target_unit[..., None, None],
        )

    def enter(self, pose: RigidTransform) -> RigidTransform:
        """A pose of the caller's clouds, for this frame."""
        return self.target_side.inverse() @ pose @ self.source_side

    def leave(self, pose: RigidTransform) -> RigidTransform:
        """A pose found in this frame, for the caller's clouds."""
        back = self.target_side @ pose @ self.source_side.inverse()
        return back if self.own_units else RigidTransform(back.rotation, back.translation)

    def leave_result(self, result: Registration) -> Registration:
        """A result found in this frame, for the caller's clouds and in the unit of the target."""
        back = result.convert(self.leave, lambda value: value)
        lengths = {name: getattr(result, name) for name in ("residuals", "spacings")}
        covariance = result.covariance
        return replace(
            back,
            covariance=None if covariance is None else move_covariance(covariance, self.target_side),
            **{name: None if each is None else each * self.target_unit[..., None] for name, each in lengths.items()},
        )

    @property
    def source_side(self) -> RigidTransform:
        """From this frame to the caller's source."""
        return _side(self.source_origin, self.source_unit)

    @property
    def target_side(self) -> RigidTransform:
        """From this frame to the caller's target."""
        return _side(self.target_origin, self.target_unit)


def _side(origin: Vectors, unit: Float[Array, "*batch"]) -> RigidTransform:
    rotation = namespace(origin).broadcast_to(as_like(np.eye(3), origin), (*origin.shape[:-1], 3, 3))
    return RigidTransform(rotation, origin, unit)


class FramedPair(NamedTuple):
    """A pair ready to be searched, and what was taken away from it."""

    pair: CloudPair
    frame: PairFrame
    has_strays: bool
    """True where points of the caller's clouds were left out."""


def frame_pair(source: Float[Array, "N 3"], target: Float[Array, "M 3"], policy: Policy) -> FramedPair:
    """Both clouds in double precision on CPU without their strays, centered, and divided by one length."""
    source, target = to_doubles(source), to_doubles(target)
    framed = _frame(source, target, policy)
    strays = [find_strays(cloud, policy.strays) for cloud in (framed.pair.source, framed.pair.target)]
    if not any(bool(each.any()) for each in strays):
        return framed
    return _frame(source[~strays[0]], target[~strays[1]], policy)._replace(has_strays=True)


def _frame(source: Float[np.ndarray, "N 3"], target: Float[np.ndarray, "M 3"], policy: Policy) -> FramedPair:
    frame = PairFrame.around(source, target)
    moving, fixed = (IndexedCloud(cloud, policy.density_neighbors) for cloud in frame.enter_clouds(source, target))
    return FramedPair(CloudPair(moving, fixed, policy), frame, has_strays=False)


def find_strays(cloud: IndexedCloud, settings: Strays) -> Bool[np.ndarray, "N"]:
    """True for points far from all others, which would pull at the centroid and the frame of the cloud."""
    distances = cloud.neighbors.distances
    distances = distances[:, min(settings.neighbor, distances.shape[-1] - 1)]
    typical = lower_median(distances)
    far = distances > settings.distance * typical
    share = far.mean()
    # Where most points are repeated, all others would be far.
    return far & (typical > 0) & (share >= settings.least) & (share <= settings.most)
