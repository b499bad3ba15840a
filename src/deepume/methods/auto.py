"""The default method: search, refine, compare, and say how far to trust the answer."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from deepume.arrays import Array, to_doubles
from deepume.geometry.searchable import IndexedCloud
from deepume.methods.entry import Claim, MethodEntry
from deepume.methods.pairwise import stack_results
from deepume.methods.running import to_kind
from deepume.result import Registration
from deepume.search.judgement.confidence import probability
from deepume.search.judgement.evidence import describe_fit
from deepume.search.pair import FramedPair, frame_pair
from deepume.search.policy import POLICIES, Effort, Policy
from deepume.search.sampling.relation import Comparison, Finish
from deepume.search.schedule import search_pair
from deepume.transform import RigidTransform, Source, Target


class Answer(NamedTuple):
    """What the default method makes of one pair, in the frame of its search."""

    framed: FramedPair
    finish: Finish
    poses: RigidTransform
    """The answer and the poses that it has beaten."""
    scores: Float[np.ndarray, "K"]
    comparison: Comparison
    features: Float[np.ndarray, "F"]
    """What confidence is computed from."""

    @property
    def pose(self) -> RigidTransform:
        """The answer, for the caller's clouds."""
        return self.framed.frame.leave(self.poses[0])


@dataclass(frozen=True, slots=True)
class Auto:
    """Proposes poses, cheapest first, until one is beyond doubt; refines by how the clouds were sampled."""

    effort: Effort = Effort.AUTO
    """How far to search."""
    time_limit: float | None = None
    """Seconds after which no further proposal is begun; the best pose so far is then finished."""
    initial: RigidTransform | None = None
    """A pose of the caller's that joins the hypotheses."""
    policy: Policy | None = None
    """Numbers to search by; None: those of the effort."""

    def __call__(self, source: Source, target: Target) -> Registration:
        """The best pose with its rivals, confidence, symmetry (of one pair) and covariance. Loops over the batch."""
        batch = source.shape[:-2]
        if not batch:
            return self._register(source, target)
        flat = zip(source.reshape(-1, *source.shape[-2:]), target.reshape(-1, *target.shape[-2:]), strict=True)
        return stack_results([self._register(*clouds) for clouds in flat], batch)

    def _register(self, source: Float[Array, "N 3"], target: Float[Array, "M 3"]) -> Registration:
        answer = self.answer(source, target)
        result = conclude(answer)
        if answer.framed.has_strays:
            moved = result.target_from_source.apply(to_doubles(source))
            result = replace(result, residuals=IndexedCloud(to_doubles(target)).nearest(moved).distances)
        return to_kind(result, source)

    def answer(self, source: Float[Array, "N 3"], target: Float[Array, "M 3"]) -> Answer:
        """What is found and said of one pair, in double precision on CPU."""
        deadline = None if self.time_limit is None else time.monotonic() + self.time_limit
        framed = frame_pair(source, target, self.policy or POLICIES[self.effort])
        pair = framed.pair
        given = None if self.initial is None else framed.frame.enter(self.initial.to(pair.source.points))
        finish, rivals = search_pair(pair, given, deadline)
        poses = RigidTransform.concatenate([finish.fit.pose[None], rivals.poses])
        scores = np.concat([[finish.fit.score], rivals.scores])
        comparison = finish.sampling.compare(pair, finish, poses, scores)
        return Answer(framed, finish, poses, scores, comparison, describe_fit(pair, finish.fit, comparison.lead))


def conclude(answer: Answer) -> Registration:
    """Everything that is said of one pair, for the caller's clouds."""
    framed, finish, comparison = answer.framed, answer.finish, answer.comparison
    pair = framed.pair
    inside = Registration.of_ranked(
        answer.poses,
        answer.scores,
        comparison.equivalent,
        ambiguous=np.asarray(comparison.ambiguous),
        confidence=probability(answer.features),
        symmetry=comparison.symmetry,
        residuals=finish.fit.forward.partners.distances,
        covariance=finish.sampling.covariance(pair, finish),
        spacings=np.array([pair.source.spacing, pair.target.spacing]),
    )
    return framed.frame.leave_result(inside)


AUTO = MethodEntry(
    name="auto",
    summary="from 4 frames to a grid and a network, until no other pose comes close",
    make=Auto,
    claims=frozenset(Claim),
    refined=True,
    anytime=True,
)
"""The row of the default method; it promises every law."""
