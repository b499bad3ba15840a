"""The last refinement: which one suits the pair is seen from the pair itself."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

from deepume.alignment.coupling import couple_points
from deepume.alignment.fit import Fit
from deepume.alignment.gicp import GicpSettings
from deepume.alignment.indexed_pair import PreparedPair
from deepume.alignment.soft_matching import assign_softly, bring_points_closer
from deepume.search.network import improve_pose
from deepume.search.sampling.copies import are_copies, are_one_to_one, lock_onto_shared
from deepume.search.tangential import bring_back
from deepume.transform import RigidTransform

FINE_GICP = GicpSettings(iterations=10, tolerance=3e-3)
"""Further steps exchange partners to and fro, and bring the pose no closer to the truth. Half as many leave what
the fast search finds of uneven clouds farther off."""
COMMON_SCORE = 0.93
"""Independent samplings of a surface score 1, give or take 0.05 with 1,024 points; points in common bring it down."""
THICK = 0.42
"""Clouds that lie farther off each other's surfaces, in spacings, show no surfaces: noise or fine parts spoil the
normals. On validation shapes with noise, points matched softly err by a third less than surfaces laid on each other."""


class Sampling(StrEnum):
    """How the points of two clouds of one surface belong together."""

    INDEPENDENT = "independent"
    """Two samplings without common points."""
    COPIES = "copies"
    """One is a noisy copy of the other."""
    SHARED = "shared"
    """Some points are the same in both."""
    PARTS = "parts"
    """Two samplings of different parts of it, which overlap."""


class Finish(NamedTuple):
    """A pose at the accuracy that the sampling allows."""

    fit: Fit
    sampling: Sampling
    noise: float | None = None
    """Variance of each coordinate, where points were coupled one to one."""
    lead: float | None = None
    """Of parts: by what share more of the clouds is off the surface at the nearest rival; None without a rival."""

    def swapped(self) -> Finish:
        """The same, the other cloud called source."""
        return self._replace(fit=self.fit.swapped())


def finish_pose(pair: PreparedPair, pose: RigidTransform, *, learned: bool = True) -> Finish:
    """Refine one pose on the whole clouds; where a step would make its own score worse, the pose before is kept.

    Shared points fix the pose exactly and noisy copies to a fraction of the noise. Without either, differently
    sampled surfaces are laid on each other along their normals, and clouds too sparse or too noisy for normals are
    matched point by point, with the last word to the network on the sparse ones.
    """
    fit, copies = Fit.of(pair, pose), are_copies(pair, pose)
    if copies or not pair.dense or fit.score < COMMON_SCORE:
        closer = Fit.of(pair, bring_points_closer(pair, pose))
        closer = closer if closer.score < fit.score else fit
        shared = lock_onto_shared(pair, closer.pose)
        if shared is not None:
            return Finish(Fit.of(pair, shared), Sampling.SHARED)
        if copies:
            return _by_points(pair, closer.pose)._replace(sampling=Sampling.COPIES)
        fit = fit if pair.dense else closer
    if pair.dense:
        return _by_surfaces(pair, fit)
    return Finish(_by_network(pair, fit) if learned else fit, Sampling.INDEPENDENT)


def is_thick(pair: PreparedPair, finish: Finish) -> bool:
    """True where dense clouds show no surface, so that their points were matched softly."""
    return finish.sampling is not Sampling.SHARED and pair.dense and finish.fit.surface_score >= THICK


def _by_points(pair: PreparedPair, pose: RigidTransform) -> Finish:
    """Points matched softly; one to one, where the clouds turn out to be copies point by point."""
    soft = assign_softly(pair, pose)
    if are_one_to_one(pair, soft):
        coupling = couple_points(pair, soft)
        return Finish(Fit.of(pair, coupling.pose), Sampling.COPIES, coupling.variance)
    return Finish(Fit.of(pair, soft), Sampling.INDEPENDENT)


def _by_surfaces(pair: PreparedPair, fit: Fit) -> Finish:
    """The clouds laid on each other along their normals; point by point where these show no surface."""
    fine = Fit.of(pair, pair.gicp(fit.pose[None], FINE_GICP)[0])
    fine = fine if fine.surface_score < fit.surface_score else fit
    if fine.surface_score < THICK:
        return Finish(bring_back(pair, fine), Sampling.INDEPENDENT)
    soft = _by_points(pair, bring_points_closer(pair, fine.pose))
    return soft if soft.fit.score <= fine.score * (1 + pair.chance) else Finish(fine, Sampling.INDEPENDENT)


def _by_network(pair: PreparedPair, fit: Fit) -> Fit:
    """What the network makes of the pose, unless the clouds fit worse there than chance allows.

    Sparse clouds leave several poses equally close; ICP takes one by accident, the network knows shapes.
    """
    improved = Fit.of(pair, improve_pose(pair, fit.pose))
    return improved if improved.score <= fit.score * (1 + pair.chance) else fit
