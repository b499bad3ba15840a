"""The default method: search, refine, compare, and say how far to trust the answer."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

import torch
from jaxtyping import Float
from torch import Tensor

from deepume.alignment.indexed_pair import PreparedPair
from deepume.alignment.score import MOST_HYPOTHESES, is_distinct
from deepume.geometry.neighbors import nearest
from deepume.methods.entry import Claim, MethodEntry
from deepume.result import Hypothesis, Registration
from deepume.search.batches import stack_results, to_dtype
from deepume.search.candidates import CLEAR_LEAD, Candidates
from deepume.search.finish import Finish, finish_pose, is_thick
from deepume.search.judgement.comparison import Judgement, judge_poses
from deepume.search.judgement.confidence import probability
from deepume.search.judgement.covariance import pose_covariance
from deepume.search.pair import Placement, has_strays, must_swap, prepare_pair
from deepume.search.policy import Effort
from deepume.search.sampling.overlap import lay_parts, may_be_parts
from deepume.search.schedule import is_late, search_poses
from deepume.transform import RigidTransform, Source, Target

TIE = 2.0
"""A rival whose score is worse by no more than this many times chance may win once both are finished."""
MOST_FINISHED = 5
"""Poses that are finished at most."""


@dataclass(frozen=True, slots=True)
class Auto:
    """Hypotheses from cheap to dear until one is beyond doubt, refined by what the clouds show."""

    effort: Effort = Effort.AUTO
    """How far to search."""
    time_limit: float | None = None
    """Seconds after which no further stage is begun; the best pose so far is then finished."""
    initial: RigidTransform | None = None
    """A pose of the caller's that joins the hypotheses."""
    learned: bool = True
    """Let the network have its say on the pose; without it, what learning is worth can be measured."""

    def __call__(self, source: Source, target: Target) -> Registration:
        """The best pose with its rivals, confidence, symmetry (of one pair) and covariance. Loops over the batch."""
        batch = source.shape[:-2]
        if not batch:
            return self._register(source, target)
        flat = zip(source.reshape(-1, *source.shape[-2:]), target.reshape(-1, *target.shape[-2:]), strict=True)
        return stack_results([self._register(*clouds) for clouds in flat], batch)

    def _register(self, source: Float[Tensor, "N 3"], target: Float[Tensor, "M 3"]) -> Registration:
        return to_dtype(self._answer(source, target), source)

    @torch.inference_mode()  # a twelfth of the time of small clouds is what autograd would note down
    def _answer(self, source: Float[Tensor, "N 3"], target: Float[Tensor, "M 3"]) -> Registration:
        """The result of one pair in double precision on CPU."""
        deadline = None if self.time_limit is None else time.monotonic() + self.time_limit
        pair, placement = prepare_pair(source, target)
        given = None if self.initial is None else placement.enter(self.initial.to(pair.source.points)[None])
        finish, rivals = self.find(pair, given, deadline)
        judgement = judge_poses(pair, finish, rivals, trials=self.effort is not Effort.FAST)
        result = conclude(pair, placement, finish, judgement)
        if not has_strays(pair, source, target):
            return result
        source, target = (cloud.to(result.residuals) for cloud in (source, target))
        return replace(result, residuals=nearest(result.target_from_source.apply(source), target).distances)

    def find(
        self, pair: PreparedPair, given: RigidTransform | None = None, deadline: float | None = None
    ) -> tuple[Finish, Candidates]:
        """The finished pose, and the distinct poses that it has beaten."""
        if must_swap(pair):
            given = None if given is None else given.inverse()
            finish, rivals = self.find(pair.swapped(), given, deadline)
            return finish.swapped(), Candidates(rivals.poses.inverse(), rivals.scores)
        found = search_poses(pair, self.effort, deadline, given, learned=self.learned)[:MOST_HYPOTHESES]
        finish = finish_pose(pair, found.poses[0], learned=self.learned)
        near = found.near(self._lead(pair, finish) * pair.chance)
        near[MOST_FINISHED:] = False
        others = [finish_pose(pair, pose, learned=self.learned) for pose in found.poses[near][1:]]
        rest = found[~near]
        rest = rest if pair.searched_whole else Candidates(rest.poses, pair.score(rest.poses))
        answer, beaten = choose_finish([finish, *others], rest)
        if self.effort is Effort.FAST or is_late(deadline) or not may_be_parts(pair, answer.fit):
            return answer, beaten
        return lay_parts(pair, answer, beaten)

    def _lead(self, pair: PreparedPair, finish: Finish) -> float:
        """Rivals whose scores are within this many times chance of the best are finished, too, before they are judged.

        Matched softly, clouds fit better than the search left them: unfinished, no rival would be seen to fit as well.
        """
        if is_thick(pair, finish):
            return CLEAR_LEAD
        return 0.0 if self.effort is Effort.FAST else TIE


def choose_finish(finishes: list[Finish], rest: Candidates) -> tuple[Finish, Candidates]:
    """The best of the finished poses, and all others that are not the same."""
    best = min(finishes, key=lambda each: each.fit.score)
    beaten = [each.fit for each in finishes if each is not best]
    poses = RigidTransform.concatenate([*(fit.pose[None] for fit in beaten), rest.poses])
    rivals = Candidates(poses, torch.cat([rest.scores.new_tensor([fit.score for fit in beaten]), rest.scores]))
    return best, rivals[is_distinct(poses, best.fit.pose)].sorted()


def conclude(pair: PreparedPair, placement: Placement, finish: Finish, judgement: Judgement) -> Registration:
    """Everything that is said of the finished pose, in the frame of the clouds as they were given."""
    restored = placement.restore(judgement.poses)
    return Registration(
        target_from_source=restored[0],
        score=judgement.scores[0],
        ambiguous=judgement.ambiguous,
        hypotheses=tuple(
            Hypothesis(restored[k], judgement.scores[k], judgement.as_well[k]) for k in range(len(judgement.scores))
        ),
        confidence=probability(judgement.features),
        symmetry=judgement.symmetry,
        residuals=placement.unit * finish.fit.forward.partners.distances,
        covariance=placement.restore_covariance(pose_covariance(pair, finish)),
        spacings=placement.unit * torch.stack([pair.source.spacing, pair.target.spacing]),
    )


AUTO = MethodEntry(
    name="auto",
    summary="from 4 frames to a grid and a network, as far as doubt remains",
    make=Auto,
    claims=frozenset(Claim),
    refined=True,
    anytime=True,
)
"""The row of the default method; it promises every law."""
