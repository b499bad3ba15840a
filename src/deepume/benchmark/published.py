"""The paper's own figures, to stand beside ours where the condition is the same."""

from __future__ import annotations

from deepume.benchmark.statistics import Row

Condition = tuple[str, str, str]
"""Set, scenario, law."""

METHODS = ("ume-3", "icp", "pointnetlk", "dcp", "deepgmr", "rgm", "deepume-paper")
"""Rows of the paper's tables, in its order, by the names of our methods."""

RMSE_R: dict[Condition, tuple[float | None, ...]] = {
    ("modelnet40-test", "noise-free", "euler-full"): (0.193, 83.039, 80.360, 92.285, 0.193, 99.937, 3e-4),
    ("modelnet40-test", "bernoulli", "euler-full"): (74.164, 86.381, 83.280, 92.818, 72.447, None, 40.357),
    ("modelnet40-test", "gaussian", "euler-full"): (27.684, 83.073, 81.843, 90.715, 42.515, 100.117, 2.425),
    ("modelnet40-test", "zero", "euler-full"): (80.331, 82.948, 80.858, 93.221, 67.282, 100.970, 70.818),
    ("faust", "zero", "euler-full"): (35.983, 84.544, 90.512, 94.315, 27.941, 114.496, 8.630),
    ("stanford", "zero", "euler-full"): (48.716, 87.292, 84.520, 99.328, 39.402, 104.872, 5.625),
    ("stanford", "noise-free", "euler-60"): (0.333, 72.265, 0.729, 5.739, 0.110, 0.025, 8e-5),
    ("stanford", "zero", "euler-60"): (42.559, 71.532, 11.504, 71.307, 33.128, 4.690, 5.159),
}
"""Mean RMSE(R) in degrees. The paper's ICP rows equal no motion at all, and RGM's small-angle rows contradict their
own Chamfer distances: shown as printed, not as the truth."""


def published_rmse_r(row: Row) -> float | None:
    """What the paper prints for this method under this condition; None where it prints nothing.

    Networks for small angles stand where the paper's small-angle table has them.
    """
    figures = RMSE_R.get((row.set, row.scenario, row.law))
    name = row.method.removesuffix("-60") if row.law == "euler-60" else row.method
    return figures[METHODS.index(name)] if figures and name in METHODS else None
