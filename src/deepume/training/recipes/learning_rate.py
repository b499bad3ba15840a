"""Learning rates as functions of progress: 0 at the start of a run, 1 at its end, by steps or by the clock."""

from __future__ import annotations

import math
from enum import StrEnum


class Schedule(StrEnum):
    """How the learning rate falls over a run."""

    PAPER = "paper"
    """Divided by 10 at 30, 60 and 80 % of the run: epochs 75, 150 and 200 of the paper's 250."""
    COSINE = "cosine"
    """A short linear rise, then half a cosine down to 1 % of the peak."""


PAPER_DROPS = (0.3, 0.6, 0.8)
"""Progress at which the paper divides the rate by 10."""
WARM_UP = 0.02
"""Share of a cosine run in which the rate rises to its peak."""
COSINE_FLOOR = 0.01
"""Where the cosine ends, as a share of the peak: a rate of zero would waste the last steps."""


def learning_rate_factor(schedule: Schedule, progress: float) -> float:
    """Share of the peak learning rate at ``progress`` in [0, 1]; values outside are taken as the nearer end."""
    progress = min(max(progress, 0.0), 1.0)
    return _FACTORS[schedule](progress)


def _paper_factor(progress: float) -> float:
    return 0.1 ** sum(progress >= drop for drop in PAPER_DROPS)


def _cosine_factor(progress: float) -> float:
    if progress < WARM_UP:
        return COSINE_FLOOR + (1 - COSINE_FLOOR) * progress / WARM_UP
    fall = (progress - WARM_UP) / (1 - WARM_UP)
    return COSINE_FLOOR + (1 - COSINE_FLOOR) * (1 + math.cos(math.pi * fall)) / 2


_FACTORS = {Schedule.PAPER: _paper_factor, Schedule.COSINE: _cosine_factor}
