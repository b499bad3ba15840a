"""What a source of hypotheses is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum, auto

from deepume.alignment.ranking import Ranking
from deepume.search.pair import CloudPair
from deepume.transform import RigidTransform


class Detail(Enum):
    """On how many points the poses of a proposal are refined first."""

    QUICK = auto()
    """On few points, as dense here and there as the clouds are. The best two go on to all points."""
    COARSE = auto()
    """On still fewer, evenly spread points. The best few that are new go on to all points."""
    WHOLE = auto()
    """On all points of the search: for a handful of poses."""


def always(pair: CloudPair) -> bool:
    """For proposals that suit every pair."""
    return True


@dataclass(frozen=True, slots=True)
class Proposal:
    """A source of hypotheses. The scheduler refines and ranks what it proposes."""

    name: str
    propose: Callable[[CloudPair, Ranking | None], RigidTransform]
    """Poses ``(K,)`` of a pair, in view of what was found before; None before anything was."""
    detail: Detail
    suits: Callable[[CloudPair], bool] = always
    """Whether it is worth its time for such a pair."""
    beats_rivals: bool = False
    """True if it may find a better pose even where one fits already, and another comes near."""
    keeps_start: bool = False
    """True if its poses are ranked as they are, too, not only once refined."""
