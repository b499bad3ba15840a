"""Points matched with points, softly: the partner of a point is the mean of its likely originals."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from deepume.alignment.score import each_cloud_half
from deepume.geometry.rotation import solve_motion
from deepume.geometry.searchable import IndexedCloud
from deepume.transform import RigidTransform


@dataclass(frozen=True, slots=True)
class SoftSettings:
    """One configuration of soft matching."""

    neighbors: int
    """Points that may be the original of a noisy one."""
    iterations: int
    """Most iterations; a pose that no longer moves stops earlier."""
    tolerance: float
    """A pose that moves by less, in entries of its matrix, has converged."""
    overshoot: float
    """Soft partners hold a pose back: it goes this many times as far as they say, and arrives in fewer steps."""


def match_softly(
    source: IndexedCloud, target: IndexedCloud, pose: RigidTransform, settings: SoftSettings
) -> RigidTransform:
    """The pose of noisy clouds: every point's partner is the mean of its likely originals.

    Expectation maximization with Gaussian noise whose variance is estimated along with the pose; with nearest
    points the pose errs about a quarter more.
    """
    weights, variance = each_cloud_half(source, target), None
    for _ in range(settings.iterations):
        forward = _expect_partners(source, target, pose, variance, settings)
        backward = _expect_partners(target, source, pose.inverse(), variance, settings)
        variance = (forward.variance + backward.variance) / 2
        before = pose
        matches = np.concat([source.points, backward.points]), np.concat([forward.points, target.points])
        pose = solve_motion(*matches, weights)
        if np.abs(pose.matrix - before.matrix).max() < settings.tolerance:
            break
    return pose


class _Partners(NamedTuple):
    """Expected partners of one cloud's points in the other."""

    points: Float[np.ndarray, "N 3"]
    """As far beyond them as the pose is to go."""
    variance: float
    """Mean squared distance to them, for each coordinate."""


def _expect_partners(
    moving: IndexedCloud, fixed: IndexedCloud, pose: RigidTransform, variance: float | None, settings: SoftSettings
) -> _Partners:
    """Means over the nearest points, each as likely as Gaussian noise makes it; at first, of the nearest distances."""
    moved = pose.apply(moving.points)
    distances, rows = fixed.k_nearest(moved, min(settings.neighbors, len(fixed.points)))
    squares = distances * distances
    variance = float(squares[:, 0].mean()) / 2 if variance is None else variance
    # The nearest one counts 1, however far it is.
    likely = np.exp((squares[:, :1] - squares) / (2 * max(variance, 1e-18)))
    likely /= likely.sum(-1, keepdims=True)
    points = (likely[:, None] @ fixed.points[rows]).squeeze(-2)
    return _Partners(moved + settings.overshoot * (points - moved), float((likely * squares).sum(-1).mean()) / 3)
