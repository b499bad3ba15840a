"""What a way to sample an object twice is: evidence for it, the refinement that suits it, comparison, covariance."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Bool, Float

from deepume.alignment.score import Fit
from deepume.arrays import lower_median
from deepume.geometry.searchable import IndexedCloud
from deepume.result import Symmetry
from deepume.search.pair import CloudPair
from deepume.search.policy import NoisyCopies
from deepume.transform import RigidTransform, cross_matrix

CloudFit = Fit[IndexedCloud]
NO_RIVAL = math.inf
"""The lead of an answer that has none."""


class Finish(NamedTuple):
    """A pose at the accuracy that the sampling allows."""

    fit: CloudFit
    sampling: Sampling
    noise: float | None = None
    """Variance of each coordinate, where points were coupled one to one."""
    lead: float | None = None
    """Of clouds that overlap: how much more is off the surface at the nearest rival, as a share; None without one."""

    def swapped(self) -> Finish:
        """The same, the other cloud called source."""
        return self._replace(fit=self.fit.swapped())


class Comparison(NamedTuple):
    """Poses of one pair compared; the first is the answer."""

    equivalent: Bool[np.ndarray, "K"]
    """Poses that fit as well as the answer does."""
    symmetry: Symmetry
    ambiguous: bool
    """True where a pose fits as well that symmetry does not explain."""
    lead: float
    """How much worse the best rival is that symmetry does not explain, as a share."""


@runtime_checkable
class Sampling(Protocol):
    """A way in which the points of two clouds of one object belong together."""

    def evidence(self, start: Start) -> bool:
        """Whether the clouds, laid together by a pose, look like it."""
        ...

    def refine(self, start: Start) -> Finish | None:
        """The pose as accurate as this sampling allows; None if it turns out to be another one."""
        ...

    def hides_surface(self, pair: CloudPair, fit: CloudFit) -> bool:
        """Whether points were matched one by one in dense clouds, so that poses fit better than before refinement."""
        ...

    def compare(
        self, pair: CloudPair, finish: Finish, poses: RigidTransform, scores: Float[np.ndarray, "K"]
    ) -> Comparison:
        """How the answer, the first of the poses, stands against its rivals."""
        ...

    def covariance(self, pair: CloudPair, finish: Finish) -> Float[np.ndarray, "6 6"]:
        """Covariance of (rotation vector, translation) for a perturbation on the left, in the frame of the target."""
        ...


@dataclass(frozen=True)
class Start:
    """A pose to refine, with what several samplings ask of it."""

    pair: CloudPair
    pose: RigidTransform

    @cached_property
    def fit(self) -> CloudFit:
        """The pair, laid together by the pose."""
        return self.pair.fit(self.pose)

    @cached_property
    def closer(self) -> CloudFit:
        """The pair after refinement by nearest points, or before, if that is no better."""
        closer = self.pair.fit(refine_by_points(self.pair, self.pose))
        return closer if closer.score < self.fit.score else self.fit

    @cached_property
    def density_spread(self) -> float:
        """How much the ratio of local densities varies from place to place: the spread of its logarithm.

        The distance to the k-th neighbor varies as points happen to fall. In a copy it varies in the same way, in
        another sampling it does not: the spread is near (2 k)^(-1/2) then.
        """
        forward = _density_spread(self.pair.source, self.pair.target, self.pose, self.pair.policy.copies)
        backward = _density_spread(self.pair.target, self.pair.source, self.pose.inverse(), self.pair.policy.copies)
        return (forward + backward) / 2


def _density_spread(moving: IndexedCloud, fixed: IndexedCloud, pose: RigidTransform, policy: NoisyCopies) -> float:
    rows = moving.rows_by_radius(policy.density_queries)
    there = fixed.k_nearest(pose.apply(moving.points[rows]), fixed.neighborhood).distances[:, -1]
    return float(np.log(there / moving.neighbors.distances[rows, -1]).std(ddof=1))


def shows_no_surface(pair: CloudPair, fit: CloudFit) -> bool:
    """True where dense clouds lie too far off each other's surfaces for normals to be of use."""
    return pair.dense and fit.surface_score >= pair.policy.surfaces.hidden


def refine_by_points(pair: CloudPair, pose: RigidTransform, steps: int | None = None) -> RigidTransform:
    """The pose after two-sided ICP, or after so many steps of it."""
    settings = pair.policy.icp if steps is None else replace(pair.policy.icp, iterations=steps)
    return pair.icp(pose[None], settings)[0]


def covariance_by_normals(fit: CloudFit, near: Bool[np.ndarray, "N"]) -> Float[np.ndarray, "6 6"]:
    """Least squares of distances along the target's normals.

    A point q moved by a small motion (w, v) goes to q + w x q + v. The covariance is the inverse of the sum of J^T J,
    times the variance of the residuals.
    """
    side, near = fit.forward, _enough(near)
    normals = side.at_partners(side.fixed.normals)
    jacobian = np.concat([np.cross(side.moved, normals), normals], -1)
    errors = (side.offsets * normals).sum(-1)
    return _least_squares(jacobian[near], errors[near])


def covariance_by_points(fit: CloudFit, near: Bool[np.ndarray, "N"]) -> Float[np.ndarray, "6 6"]:
    """Least squares of distances between points and their partners."""
    side, near = fit.forward, _enough(near)
    return _least_squares(point_jacobian(side.moved)[near].reshape(-1, 6), side.offsets[near].ravel())


def point_jacobian(points: Float[np.ndarray, "N 3"]) -> Float[np.ndarray, "N 3 6"]:
    """How points move with a small motion."""
    eye = np.broadcast_to(np.eye(3), (len(points), 3, 3))
    return np.concat([-cross_matrix(points), eye], -1)


def near_partners(pair: CloudPair, fit: CloudFit) -> Bool[np.ndarray, "N"]:
    """Points of the source whose partner is not much farther than usual."""
    distances = fit.forward.partners.distances
    return distances <= pair.policy.inflation.near * max(lower_median(distances), 1e-12)


def _enough(near: Bool[np.ndarray, "N"]) -> Bool[np.ndarray, "N"]:
    """The points that are near; all of them where too few are to tell six numbers."""
    return near if near.sum() >= 6 else np.ones_like(near)


def _least_squares(rows: Float[np.ndarray, "P 6"], errors: Float[np.ndarray, "P"]) -> Float[np.ndarray, "6 6"]:
    return max(np.mean(errors * errors), 1e-20) * invert_information(rows.mT @ rows)


def invert_information(information: Float[np.ndarray, "6 6"]) -> Float[np.ndarray, "6 6"]:
    """The inverse; a direction that nothing is known of gets a huge variance rather than none."""
    values, vectors = np.linalg.eigh(information)
    return (vectors / np.maximum(values, 1e-9 * values[-1])) @ vectors.T
