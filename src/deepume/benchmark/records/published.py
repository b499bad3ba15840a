"""The paper's own figures, to stand beside ours where the condition is the same."""

from __future__ import annotations

import csv
from functools import lru_cache
from importlib import resources
from typing import NamedTuple

from deepume.benchmark.rows.statistics import Row

POINTS = 1024
"""Points of each cloud in all tables of the paper."""
METRICS = ("chamfer_squared", "hausdorff_squared", "rmse_r_paper", "rmse_t_paper")
"""What the paper prints, by the names of our figures: d_C, d_H (both of squared distances), RMSE(R), RMSE(t)."""
IN_ANY_UNIT = "rmse_r_paper"
"""The one metric that is the same for FAUST in meters, as in the paper, and in the unit sphere."""


class Place(NamedTuple):
    """A row of a published table, in our names."""

    set: str
    scenario: str
    law: str
    method: str


@lru_cache(maxsize=1)
def published_rows() -> dict[Place, dict[str, str]]:
    """Figures of every published row as printed, bounds (``<1e-04``) and gaps (``N/A``) included.

    The paper's ICP rows equal no motion at all, and RGM's small-angle rows contradict their own Chamfer distances:
    shown as printed, not as the truth.
    """
    text = (resources.files("deepume.benchmark.records") / "paper.csv").read_text(encoding="utf-8")
    lines = list(csv.DictReader(text.splitlines()))
    return {Place(*(line[name] for name in Place._fields)): {name: line[name] for name in METRICS} for line in lines}


def published(row: Row, metric: str) -> str | None:
    """What the paper prints for this method under this condition; None where it prints nothing.

    Networks for small angles stand where the paper's small-angle table has them.
    """
    if row.points != POINTS or row.parameters:
        return None
    name = row.method.removesuffix("-60") if row.law == "euler-60" else row.method
    shapes = "faust-meters" if row.set == "faust" and metric == IN_ANY_UNIT else row.set
    return published_rows().get(Place(shapes, row.scenario, row.law, name), {}).get(metric)
