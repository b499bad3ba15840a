"""The paper's tables and figures as suites: one name, one command each."""

from __future__ import annotations

from deepume.benchmark.rows.resampling import RESAMPLER
from deepume.benchmark.rows.variants import ABLATIONS
from deepume.benchmark.suites.suite import Condition, Suite
from deepume.datasets import Law, Scenario

BEFORE = ("identity", "pca")
PLAIN = ("frames-gicp", "auto", "truth-gicp")
"""For comparison in every table: doing nothing, only frames, frames with a good refinement, the default, the floor."""
COMPARED = ("ume-3", "icp", "pointnetlk", "dcp", "deepgmr", "rgm")
FOR_SMALL_ANGLES = ("ume-3", "icp", "pointnetlk-60", "dcp-60", "deepgmr-60", "rgm-60")
NETWORKS = ("deepume-paper", "deepume")
THREE_SETS = ("modelnet40-test", "faust-meters", "stanford")
SCAN_PAIRS = (("faust-meters", 110), ("stanford", 240), ("modelnet40-test", 180))
"""Ten pairs of each of 11 scans of people, one of each other shape."""

NOISES = (0.01, 0.02, 0.04, 0.06, 0.09, 0.12, 0.16, 0.2, 0.3)
"""Standard deviations up to the paper's 0.09 taken as a variance, which is a standard deviation of 0.3."""
KEPT = (0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0)
DENSE_METHODS = (*BEFORE, "ume", "ume-3")
"""What is measured at any number of points: closed forms."""
MOST_POINTS = (*((name, 4096) for name in PLAIN), *((name, 2048) for name in NETWORKS))
"""Larger clouds are left to the closed forms: others would take hours for what 4,096 points show as well."""


def noisy(name: str, std: float) -> Condition:
    """The same points in both clouds, the target with this noise."""
    return Condition(name, Scenario.GAUSSIAN, Law.EULER_FULL, 1024, (("std", std),))


def thinned(name: str, first: float, second: float) -> Condition:
    """Source and target thinned to these shares of their points."""
    return Condition(name, Scenario.BERNOULLI, Law.EULER_FULL, 1024, (("keep_source", first), ("keep_target", second)))


TABLES = (
    Suite(
        "T1",
        "Table 1: ModelNet40, any rotation, three scenarios",
        methods=(*BEFORE, *COMPARED, *NETWORKS, *PLAIN),
        sets=("modelnet40-test",),
        scenarios=(Scenario.NOISE_FREE, Scenario.BERNOULLI, Scenario.GAUSSIAN),
        laws=(Law.EULER_FULL,),
        pairs=180,
    ),
    Suite(
        "T2",
        "Table 2: zero intersection, any rotation, three sets",
        methods=(*BEFORE, *COMPARED, *NETWORKS, *PLAIN),
        sets=THREE_SETS,
        laws=(Law.EULER_FULL,),
        pairs=240,
        fewer=SCAN_PAIRS,
    ),
    Suite(
        "T3",
        "Table 3: Stanford scans, angles up to 60 degrees about each axis",
        methods=(*BEFORE, *FOR_SMALL_ANGLES, *NETWORKS, *PLAIN),
        sets=("stanford",),
        scenarios=(Scenario.NOISE_FREE, Scenario.ZERO),
        laws=(Law.EULER_60,),
        pairs=240,
    ),
    Suite(
        "T4",
        "Table 4: the paper's network without its parts, FAUST",
        methods=(*BEFORE, *ABLATIONS, *NETWORKS, *PLAIN),
        sets=("faust-meters",),
        scenarios=(Scenario.ZERO, Scenario.GAUSSIAN),
        laws=(Law.EULER_FULL,),
        pairs=110,
    ),
)
"""The four tables. Where the paper speaks of any rotation, angles are drawn over the full circle."""

FIGURES = (
    Suite(
        "density",
        "Error against the number of points, FAUST, zero intersection",
        methods=(*DENSE_METHODS, *NETWORKS, *PLAIN),
        sets=("faust-meters",),
        laws=(Law.EULER_FULL,),
        points=(64, 128, 256, 512, 1024, 2048, 4096, 16384, 44000),
        pairs=44,
        limits=MOST_POINTS,
    ),
    Suite(
        "sigma",
        "Error against Gaussian noise, three sets",
        methods=(*BEFORE, *NETWORKS, *PLAIN),
        sets=THREE_SETS,
        further=tuple(noisy(name, std) for name in THREE_SETS for std in NOISES[:4]),
        pairs=60,
        fewer=(("faust-meters", 44),),
        stride=3,
        sweep_only=True,
    ),
    Suite(
        "bernoulli",
        "Error against the shares of points kept in source and target, three sets",
        methods=(*BEFORE, "deepume-paper", *PLAIN),
        sets=THREE_SETS,
        further=tuple(thinned(name, first, second) for name in THREE_SETS for first in KEPT for second in KEPT),
        pairs=20,
        stride=9,
        sweep_only=True,
    ),
    Suite(
        "extremes",
        "Clouds thinned to very unequal shares of their points",
        methods=(*BEFORE, "deepume-paper", *PLAIN),
        sets=("stanford",),
        further=tuple(thinned("stanford", *kept) for kept in ((0.05, 1.0), (1.0, 0.05), (0.1, 0.1), (0.2, 1.0))),
        pairs=60,
        stride=4,
        sweep_only=True,
    ),
    Suite(
        "ambiguity",
        "Right answers that RMSE(R) calls wrong: symmetric shapes half a turn from the truth",
        methods=(*BEFORE, *PLAIN, "half-turn-gicp"),
        sets=("procedural",),
        scenarios=(Scenario.ZERO,),
        laws=(Law.EULER_FULL,),
        pairs=1008,
        by_class=("procedural",),
    ),
    Suite(
        "noise",
        "Zero intersection against Gaussian noise, 0.09 taken as standard deviation and as variance",
        methods=(*BEFORE, "deepume-paper", *PLAIN),
        sets=("stanford",),
        laws=(Law.EULER_FULL,),
        further=tuple(noisy("stanford", std) for std in NOISES),
        pairs=60,
        stride=4,
    ),
    Suite(
        "teaser",
        "One pair as each method leaves it, and the errors over all scans: FAUST, zero intersection",
        methods=(*BEFORE, "ume-3", "dcp", "deepgmr", "deepume-paper", *PLAIN),
        sets=("faust-meters",),
        laws=(Law.EULER_FULL,),
        pairs=11,
    ),
    Suite(
        "resample",
        "How far the paper's network moves the points of a cloud",
        methods=(*BEFORE, RESAMPLER, *PLAIN),
        sets=("modelnet40-test",),
        scenarios=(Scenario.ZERO, Scenario.PAPER_TRAINING),
        laws=(Law.EULER_FULL,),
        pairs=180,
    ),
    Suite(
        "cost",
        "Times: points resampled, features resampled, no moments, and only closed forms",
        methods=(*BEFORE, "ume-3", "deepume-paper", *ABLATIONS[1:], *PLAIN),
        sets=("faust-meters",),
        laws=(Law.EULER_FULL,),
        points=(256, 1024),
        pairs=44,
    ),
)
"""Its figures, and statements of its text that can be measured."""

PAPER_SUITES = (*TABLES, *FIGURES)
