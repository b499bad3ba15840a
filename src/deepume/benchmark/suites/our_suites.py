"""The suites that have a name: our own here, the paper's tables and figures in :mod:`.paper_suites`."""

from __future__ import annotations

from deepume.benchmark.rows.variants import UNMIRRORED
from deepume.benchmark.suites.paper_suites import PAPER_SUITES
from deepume.benchmark.suites.suite import Condition, Suite
from deepume.datasets import Law, ProceduralSet, Scenario
from deepume.errors import require_known

CLOSED_FORM = ("identity", "pca", "ume", "ume-3")
LOCAL_SEARCH = ("icp", "frames-icp", "frames-gicp", "grid-icp")
PEERS = ("grid-icp-576", "goicp", "fgr", "ransac", "kiss-matcher")
REFINED_PEERS = ("ransac-gicp", "fgr-gicp", "kiss-matcher-gicp")
"""What users choose for parts, with GICP: ICP pairs every point, also one without a partner in the other cloud."""
COMPARED = tuple(f"{name}{law}" for name in ("pointnetlk", "dcp-v1", "dcp", "deepgmr", "rgm") for law in ("", "-60"))
OURS = ("deepume-paper", "deepume", "deepume-small")
FLOOR = ("truth-icp", "truth-gicp")
SCANS = ("stanford", "faust")
DEFAULT = ("auto", "auto-fast", "auto-thorough", "auto-unlearned")
OTHER_PAIRS = (
    (Scenario.ZERO, 256),
    (Scenario.ZERO, 128),
    (Scenario.ZERO, 64),
    (Scenario.ZERO_NOISE, 128),
    (Scenario.DENSITY, 1024),
)
"""Scenarios and sizes in which the default method is measured beside the paper's."""

SUITES = {
    suite.name: suite
    for suite in (
        Suite(
            "core",
            "Closed-form methods and local search, zero intersection, any rotation",
            methods=(*CLOSED_FORM, *LOCAL_SEARCH, *FLOOR),
            sets=("stanford", "faust"),
        ),
        Suite(
            "default",
            "The default method, what it is made of, and its peers, from 64 to 1,024 points",
            methods=("identity", "pca", *DEFAULT, "frames-gicp", "grid-icp", "ransac", "fgr", "kiss-matcher", *FLOOR),
            sets=SCANS,
            scenarios=(Scenario.ZERO, Scenario.BERNOULLI, Scenario.GAUSSIAN),
            pairs=240,
            fewer=(("faust", 220),),
            further=(
                *(Condition(name, scenario, Law.HAAR, points) for scenario, points in OTHER_PAIRS for name in SCANS),
                Condition("stanford", Scenario.DIFFERENT, Law.HAAR, 1024),
                Condition("procedural", Scenario.ZERO, Law.HAAR, 1024),
                Condition("procedural", Scenario.DIFFERENT, Law.HAAR, 1024),
                Condition("modelnet40-test", Scenario.ZERO, Law.HAAR, 1024),
            ),
        ),
        Suite(
            "network",
            "The networks without refinement, in every scenario of the paper, sparse and of uneven density",
            methods=("identity", "pca", "ume", "deepume-paper", UNMIRRORED, *OURS[1:], "frames-gicp", "truth-gicp"),
            sets=(*SCANS, "modelnet40-test"),
            scenarios=(Scenario.NOISE_FREE, Scenario.BERNOULLI, Scenario.ZERO, Scenario.GAUSSIAN),
            pairs=240,
            fewer=(("faust", 220), ("faust-meters", 220), ("modelnet40-test", 180)),
            by_class=("modelnet40-test",),
            further=(
                *(Condition(name, Scenario.ZERO, Law.HAAR, 128) for name in SCANS),
                *(Condition(name, Scenario.DENSITY, Law.HAAR, 1024) for name in SCANS),
                *(Condition(name, Scenario.ZERO, Law.EULER_FULL, 1024) for name in ("stanford", "faust-meters")),
            ),
        ),
        Suite(
            "methods",
            "Every method, zero intersection, any rotation and small angles",
            methods=(*CLOSED_FORM, *LOCAL_SEARCH, "auto", *PEERS, *COMPARED, *OURS, *FLOOR),
            sets=("stanford", "faust"),
            laws=(Law.HAAR, Law.EULER_FULL, Law.EULER_60),
            pairs=60,
            fewer=(("faust", 44),),
            stride=4,
        ),
        Suite(
            "parts",
            "Clouds that show different parts of an object, or hold points that are not of it",
            methods=("identity", "pca", "icp", "frames-gicp", "grid-icp", *REFINED_PEERS, "auto", *FLOOR),
            sets=SCANS,
            scenarios=(Scenario.OVERLAP, Scenario.OCCLUSION, Scenario.OUTLIERS),
            points=(1024, 256),
            pairs=60,
            fewer=(("faust", 44),),
            stride=4,
        ),
        Suite(
            "quick",
            "The same methods on procedural shapes, in a minute",
            methods=(*CLOSED_FORM, "icp", "frames-gicp", *FLOOR),
            sets=("procedural",),
            scenarios=(Scenario.NOISE_FREE, Scenario.ZERO, Scenario.GAUSSIAN),
            points=(512,),
            pairs=30,
        ),
        *PAPER_SUITES,
    )
}
"""All suites by name."""


ALL = tuple(suite.name for suite in PAPER_SUITES)
"""What the word ``all`` stands for: everything the paper reports."""


def get_suite(name: str, *, has_data: bool = True) -> Suite:
    """The suite of a name; without data, its methods on procedural shapes, as far as they have points enough."""
    require_known("suite", name, list(SUITES))
    suite = SUITES[name]
    if has_data:
        return suite
    most = ProceduralSet().points // 2
    return suite.narrowed(sets=("procedural",), points=tuple(each for each in suite.points if each <= most))
