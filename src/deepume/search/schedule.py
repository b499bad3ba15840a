"""Hypotheses from cheap to dear: a stage runs only while the best pose so far is in doubt and time is left."""

from __future__ import annotations

import time
from collections.abc import Callable

from deepume.alignment.indexed_pair import PreparedPair
from deepume.search.candidates import Candidates, has_rivals, in_doubt, misfits, refine_whole
from deepume.search.policy import Effort
from deepume.search.stages import BRIEF_GICP, COARSE_GICP, from_frames, from_grid, from_network, from_signs
from deepume.transform import RigidTransform

FAIR_LEAD = 0.5
"""A fast answer is clear enough when every rival's score is worse by this many times what chance can do."""
NETWORK_POINTS = 100
"""From this many points on, frames and grid find what the network finds, in less time."""

Stage = Callable[[PreparedPair, Candidates], Candidates]
"""Adds to what was found."""


def search_poses(
    pair: PreparedPair,
    effort: Effort,
    deadline: float | None,
    given: RigidTransform | None = None,
    *,
    learned: bool = True,
) -> Candidates:
    """Hypotheses of the pair from as many stages as the effort, the doubt and the clock (``deadline``) ask for."""
    pair = pair.for_search
    found = from_signs(pair, BRIEF_GICP if effort is Effort.FAST else COARSE_GICP)
    settled = is_settled(pair.quick, found, effort)
    found = carry_over(pair, found, refine=not settled)
    if given is not None:
        found = found.join(Candidates.rank(pair, RigidTransform.concatenate([given, refine_whole(pair, given)])))
    for stage in () if settled else _stages(pair, effort, learned):
        doubt = in_doubt(pair, found) if stage is from_frames else misfits(pair, found)
        if is_late(deadline) or (effort is Effort.AUTO and not doubt):
            break
        found = found.join(stage(pair, found))
    return found


def is_late(deadline: float | None) -> bool:
    """Whether no further stage may begin."""
    return deadline is not None and time.monotonic() > deadline


def is_settled(quick: PreparedPair, found: Candidates, effort: Effort) -> bool:
    """Whether few points decide already, so that the best pose can be left as it is to the last refinement."""
    if effort is Effort.THOROUGH or not quick.dense:
        return False
    return not (has_rivals(quick, found, FAIR_LEAD) if effort is Effort.FAST else in_doubt(quick, found))


def carry_over(pair: PreparedPair, found: Candidates, *, refine: bool) -> Candidates:
    """What was found on few points, for the pair itself: the two best refined if asked for, all scored.

    Poses beaten on few points stay as they are: to be listed, and to show how clear the lead is.
    """
    if pair.quick is pair:
        return found
    leaders, beaten = found.poses[:2], found.poses[2 if refine else 0 :]
    scored = Candidates(beaten, pair.score(beaten, asking=pair.quick))
    return Candidates.rank(pair, refine_whole(pair, leaders)).join(scored) if refine else scored


def _stages(pair: PreparedPair, effort: Effort, learned: bool) -> tuple[Stage, ...]:
    """From cheap to dear; the network's hypotheses find more than frames and grid on the sparsest clouds alone."""
    if effort is Effort.FAST:
        return ()
    if learned and pair.smaller_size < NETWORK_POINTS:
        return from_frames, from_network, from_grid
    return from_frames, from_grid
