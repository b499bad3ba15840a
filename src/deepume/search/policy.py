"""Every tuned number of the default method, with what it means and how it was chosen.

A change here changes answers: measure it on validation shapes, then fit the confidence anew. Lengths are in point
spacings and angles in radians, unless the name says otherwise; "chance" is what sampling does to a score.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from math import radians

from deepume.alignment.coupling import CouplingSettings
from deepume.alignment.gicp import GicpSettings
from deepume.alignment.nearest_points import IcpSettings
from deepume.alignment.polish import DENSE_POINTS
from deepume.alignment.soft_matching import SoftSettings


class Effort(StrEnum):
    """How far an anytime method searches."""

    FAST = "fast"
    """Try four principal frames only."""
    AUTO = "auto"
    """Stop when no other pose comes close."""
    THOROUGH = "thorough"
    """Try everything."""


@dataclass(frozen=True, slots=True)
class Doubt:
    """Multiples of chance by which scores are compared. Chance moves the score of a right pose by less than 1."""

    fits: float = 1.0
    """A pose fits while its score is above that of two samplings of one surface by at most this."""
    turned: float = 1.25
    """A turn of the object fits while it makes the score worse by at most this."""
    may_slide: float = 1.5
    """Surfaces that fit to this may have slid on each other."""
    close: float = 2.0
    """A rival this close may win once it is refined to the end, and is equal if symmetry explains it."""
    clear: float = 4.0
    """A rival farther behind than this is beaten."""
    too_few_points: float = 0.1
    """Where chance itself exceeds this (some 500 points in both clouds together), every proposal is worth its time."""


@dataclass(frozen=True, slots=True)
class Strays:
    """What counts as a point far from all others. Measured on whole procedural shapes, with and without strays."""

    neighbor: int = 3
    distance: float = 4.0
    """A point is far if this neighbor is so many times as far as the median one: fewer than 1 in 1,000 points of
    whole shapes are, 1 or 2 where a sampling thins out, 14 to 19 of 20 points strewn into the doubled box around it."""
    least: float = 0.02
    """A smaller share of far points does no harm, and may have a counterpart in a copy that is not quite as far."""
    most: float = 0.25
    """With a larger share, the cloud is uneven."""


@dataclass(frozen=True, slots=True)
class SharedPoints:
    """How points that are the same in both clouds are found."""

    score: float = 0.93
    """Independent samplings of a surface score 1, give or take 0.05 with 1,024 points; common points lower that."""
    steps: int = 16
    widest: float = 0.5
    shrinkage: float = 0.7
    """The scale of the robust kernel begins at ``widest`` and shrinks by this factor a step, to 1/600 in the end."""
    distance: float = 0.02
    """Closer points are the same: of independent samplings 1 in 3,000 is, by chance."""
    fewest: int = 6
    """A motion can bring two points onto two others, and a third nearly; more in one place are no accident."""
    share: float = 0.03
    """Share of the smaller cloud that must be common."""


@dataclass(frozen=True, slots=True)
class NoisyCopies:
    """How noisy copies are told from independent samplings, and matched."""

    density_spread: float = 0.17
    """Local densities of copies agree better than this: on validation shapes independent samplings have 0.20 to 0.28,
    copies at most 0.16 with noise up to the point spacing."""
    density_queries: int = 256
    """Points whose density is compared; more would not tell more."""
    fewest: int = 20
    """Smaller clouds have no local density."""
    moments: float = 0.4
    """Moments of copies differ by less than this part of what sampling does: of 115 validation pairs of noisy samplings
    2 do, of 76 copies with noise above the point spacing 72 do."""
    soft: SoftSettings = SoftSettings(neighbors=8, iterations=10, tolerance=1e-5, overshoot=1.5)
    coupling: CouplingSettings = CouplingSettings(
        neighbors=16, rounds=2, steps=12, scalings=8, tolerance=1e-4, overshoot=1.5
    )
    """With 32 or 64 neighbors the pose comes no closer."""


@dataclass(frozen=True, slots=True)
class Surfaces:
    """How dense clouds without common points are laid on each other."""

    gicp: GicpSettings = GicpSettings(iterations=10, tolerance=3e-3)
    """Further steps only exchange partners back and forth. Half as many leave what the fast search finds of uneven
    clouds farther off."""
    hidden: float = 0.42
    """Clouds that lie farther off each other's surfaces show no surface: noise or fine parts spoil the normals. Beyond
    this, on noisy validation shapes, matching points softly errs by a third less than normals do."""
    closer: float = 0.25
    """Surfaces have slid where nearest points bring clouds that fit closer by this part of chance. Of ModelNet40's
    training shapes (most are airplanes) one in forty has with 1,024 points, one in eight with 300; corrected, their
    points are a third to a half nearer to the truth."""
    correction_steps: tuple[int, int] = (1, 6)
    promising: float = 0.25 / 4
    """The first correction must bring this for the second to be made: of 183 pairs, 35 of the 36 that came closer
    in the end had it, and 49 of the others had not."""


@dataclass(frozen=True, slots=True)
class Overlap:
    """How clouds that show different parts of an object are told from wholes, and laid on each other."""

    fewest: int = 150
    """Smaller parts have no surface that could be laid on another."""
    uncovered: float = 0.06
    """Where both clouds have this share of points that are not covered, they may show different parts: nine in ten
    pairs of parts laid wrongly as wholes have it, and one in ten where a sampling thins out."""
    unmatched: float = 0.05
    unmatched_spacings: float = 3.0
    """They do show different parts where this share of both is farther off than so many spacings of the other cloud at
    that place, and where fewer points are off the surface:"""
    fewer: float = 0.95
    """at most this part, if the pose is another one."""
    starts_gicp: GicpSettings = GicpSettings(reach=10.0, iterations=12, tolerance=1e-3, two_sided=False)
    close_gicp: GicpSettings = GicpSettings(reach=3.0, iterations=12, tolerance=1e-3, two_sided=False)
    gicp: GicpSettings = GicpSettings(iterations=20, tolerance=1e-3)
    finalists: int = 8
    """Poses that are refined on all points of the search."""


@dataclass(frozen=True, slots=True)
class Turns:
    """How the symmetry of an object is found."""

    gicp: GicpSettings = GicpSettings(iterations=5, tolerance=1e-3, two_sided=False)
    """A turn of the best pose about an axis of symmetry has little left to move."""
    orders: tuple[int, ...] = (8, 7, 6, 5, 4, 3, 2)
    """Finite orders that are tried, largest first: order 6 contains 3 and 2."""
    odd_angles_deg: tuple[float, ...] = (17.0, 37.0, 101.0, 163.0)
    """Turns that no small finite order explains: where all of them fit, the symmetry is continuous."""
    same_axis_deg: float = 15.0
    stays_deg: float = 8.0
    """A turned pose that refinement moves farther than this did not fit where it was."""
    most_axes: int = 13
    """Axes of the cube, the most that are tried."""
    roughly: float = 1.6
    """Turned poses that score more than this many times as much as the best one are not worth refining."""
    upside_down: float = -0.95
    across: float = 0.3
    """Cosines of two axes: turned over, and at a right angle."""
    steps: int = 36
    """Turns that stand for all turns of a continuous symmetry."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """What the features of the confidence are measured with. The fitted model knows these values and no others."""

    covered: float = 2.0
    """A point with a partner within this many spacings is covered by the other cloud."""
    fewest_covered: int = 8
    """Fewer covered points than this say nothing of their own."""
    most_lead: float = 1.0
    """A larger lead is no surer."""
    picture_points: int = 64
    """Points that are looked at from all sides; the measure takes all their distances in every picture."""
    other_side: float = 2.0
    """Neighbors in a picture that lie this far before or behind each other are on different sides of the object."""
    test_points: int = 128
    """Points of each cloud that the two-sample test compares, in a matrix of all their distances."""
    kernel_width: float = 1.0
    """Of that test, in sizes of the pair: it sees what is missing at one end of an object, not single points."""


@dataclass(frozen=True, slots=True)
class Inflation:
    """Factors on the variance by which 95 % of true poses fall into the ellipsoid of 95 %, on training shapes.

    Least squares is too sure of itself: partners are chosen to be near, and residuals of neighbors go together.
    """

    surfaces: float = 10.0
    points: float = 25.0
    overlap: float = 60.0
    """On 70 pairs, where 91 % do."""
    copies: float = 4.5
    coupled: float = 1.1
    """Points coupled one to one, on 228 validation pairs, where 96 % do."""
    shared: float = 1.0
    near: float = 3.0
    """Residuals beyond so many medians do not count."""


@dataclass(frozen=True, slots=True)
class Policy:
    """How the default method searches, refines and compares."""

    doubt: Doubt = Doubt()
    strays: Strays = Strays()
    shared: SharedPoints = SharedPoints()
    copies: NoisyCopies = NoisyCopies()
    surfaces: Surfaces = Surfaces()
    overlap: Overlap = Overlap()
    turns: Turns = Turns()
    evidence: Evidence = Evidence()
    inflation: Inflation = Inflation()

    search_points: int = 1024
    """Poses are sought on at most this many points of each cloud; all of them take part in the last refinement."""
    quick_points: int = 256
    """Points on which the first four poses are refined."""
    coarse_points: int = 128
    """Points, spread evenly, on which many poses are refined."""
    dense_points: int = DENSE_POINTS
    """From this many points on clouds have normals, and GICP refines better than ICP."""
    density_neighbors: int = 8
    """Points, itself included, that tell how densely a cloud is sampled around a point."""
    network_points: int = 100
    """From this many points on, frames and evenly spread rotations find what the network finds, in less time."""

    quick_gicp: GicpSettings = GicpSettings(reach=10.0, iterations=12, tolerance=1e-3, two_sided=False)
    """The first refinement of the four principal frames."""
    coarse_gicp: GicpSettings = GicpSettings(reach=10.0, iterations=12, tolerance=1e-3, two_sided=False)
    """The first refinement of all other proposals."""
    whole_gicp: GicpSettings = GicpSettings(iterations=8, tolerance=1e-3, two_sided=False)
    whole_icp: IcpSettings = IcpSettings(iterations=20, tolerance=1e-4)
    """The second refinement, near enough to an optimum of the score to be compared; ICP for sparse clouds."""
    icp: IcpSettings = IcpSettings(iterations=20, tolerance=1e-4)
    """Nearest points at the end of the search."""

    rotations: int = 72
    """Rotations spread evenly over all."""
    alike: float = 0.25
    """Variances that differ by less than this part have axes that sampling can exchange or turn."""
    sweep_steps: int = 16
    """Turns about such an axis: no angle is more than 11 degrees from one of them."""
    finalists: int = 6
    """Poses of a proposal that are refined on all points of the search."""
    known_angle: float = radians(8)
    """Refined, a pose this near to a refined one would end there, too; a farther one may yet find common points."""
    most_finished: int = 5
    """Poses that are refined to the end at most."""

    first_lead: float = 4.0
    """After the four principal frames the search is over if no rival is closer than this many times chance."""
    first_must_fit: bool = True
    """And if the best pose fits."""
    proposes_more: bool = True
    """Go on with further proposals while doubt remains."""
    exhausts: bool = False
    """Go on with all of them whether doubt remains or not."""
    finished_lead: float = 2.0
    """Rivals within this many times chance of the best are refined to the end, too."""
    tries_overlap: bool = True
    """Where wholes do not fit, try the clouds as different parts."""
    tries_turns: bool = True
    """Try turns of the best pose as symmetries, besides those between the poses at hand."""
    asks_network: bool = True
    """Use the network on sparse clouds; without it, what learning is worth can be measured."""


POLICIES = {
    Effort.FAST: Policy(
        quick_gicp=GicpSettings(reach=10.0, iterations=6, tolerance=1e-3, two_sided=False),
        first_lead=0.5,
        first_must_fit=False,
        proposes_more=False,
        finished_lead=0.0,
        tries_overlap=False,
        tries_turns=False,
    ),
    Effort.AUTO: Policy(),
    Effort.THOROUGH: Policy(exhausts=True),
}
"""What each effort means. Fast: half the steps, for the last refinement brings validation shapes as close."""
