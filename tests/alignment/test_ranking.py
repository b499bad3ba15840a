"""Which poses are hypotheses of their own, and in which order."""

import torch
from hypothesis import given, settings

from deepume import RigidTransform
from deepume.alignment.ranking import Ranking, best_distinct, distinct_mask, rank_hypotheses, take_poses
from deepume.geometry.rotation import geodesic_angle
from deepume.transform import random_rotation, rotation_about_axis, rotation_from_vector
from strategies import batch_shapes, dtypes, generator, random_cloud, random_motion, seeds, worst

Batch = tuple[int, ...]


@given(seed=seeds(), batch=batch_shapes())
def test_taking_poses_takes_all_their_parts(seed: int, batch: Batch) -> None:
    poses = random_motion(seed, *batch, 5, scaled=True)
    order = torch.rand(*batch, 5, generator=generator(seed)).argsort(-1)
    taken = take_poses(poses, order)
    for k in range(5):
        picked = torch.take_along_dim(poses.matrix, order[..., k, None, None, None], -3).squeeze(-3)
        assert torch.equal(taken[..., k].matrix, picked)


def test_the_best_distinct_poses_come_first_and_copies_only_to_fill_up() -> None:
    steps = torch.tensor([[0, 0, 0], [0.05, 0, 0], [2, 0, 0], [0, 2, 0]], dtype=torch.float64)
    poses = RigidTransform(rotation_from_vector(steps), steps)
    scores = torch.tensor([1.0, 2.0, 4.0, 3.0], dtype=torch.float64)
    chosen = best_distinct(poses, scores, 4)
    assert torch.equal(chosen.translation, steps[[0, 3, 2, 1]])
    assert best_distinct(poses, scores, 2).rotation.shape == (2, 3, 3)


@given(seed=seeds(), batch=batch_shapes(), dtype=dtypes())
@settings(max_examples=10)
def test_hypotheses_are_ranked_distinct_and_headed_by_the_answer(seed: int, batch: Batch, dtype: torch.dtype) -> None:
    source, motion = random_cloud(seed, *batch, 40, dtype=dtype), random_motion(seed, *batch, dtype=dtype)
    poses = RigidTransform.stack([random_motion(seed + k, *batch, dtype=dtype) for k in range(12)])
    result = rank_hypotheses(source, motion.apply(source), poses)
    scores = torch.stack([each.score for each in result.hypotheses], -1)
    assert len(result.hypotheses) in range(1, 9)
    assert bool((scores[..., 1:] >= scores[..., :-1]).all())
    assert torch.equal(result.hypotheses[0].target_from_source.matrix, result.target_from_source.matrix)
    assert torch.equal(result.score, scores[..., 0])
    assert worst(result.target_from_source.matrix, motion.matrix) < 1e-5
    assert result.residuals is not None
    assert result.residuals.shape == (*batch, 40)
    assert not bool(result.ambiguous.any())


def test_a_ranking_is_sorted_and_distinct() -> None:
    poses, scores = random_motion(1, 12), torch.rand(12, generator=generator(0), dtype=torch.float64)
    found = Ranking.of(RigidTransform.concatenate([poses, poses]), torch.cat([scores, scores]))
    assert bool((found.scores[1:] >= found.scores[:-1]).all())
    assert len(found.scores) <= 12
    assert torch.equal(found.join(found).scores, found.scores)
    assert found.near(0.0).tolist() == [True] + [False] * (len(found.scores) - 1)
    assert found[:2].poses.rotation.shape == (2, 3, 3)


@given(seed=seeds(), batch=batch_shapes())
def test_distinct_candidates_are_the_greedy_choice(seed: int, batch: Batch) -> None:
    rotations = random_rotation(*batch, 12, generator=generator(seed))
    scores = torch.rand(*batch, 12, generator=generator(seed))
    mask = distinct_mask(rotations, scores, angle=1.2)
    assert mask.shape == scores.shape
    for some_rotations, some_scores, kept in zip(
        rotations.reshape(-1, 12, 3, 3), scores.reshape(-1, 12), mask.reshape(-1, 12), strict=True
    ):
        chosen: list[int] = []
        for k in some_scores.argsort().tolist():
            if all(geodesic_angle(some_rotations[k], some_rotations[j]) >= 1.2 for j in chosen):
                chosen.append(k)
        assert sorted(chosen) == kept.nonzero().flatten().tolist()


def test_of_near_copies_the_best_is_kept() -> None:
    angles = torch.tensor([0.0, 0.1, 0.2, 2.0], dtype=torch.float64)
    rotations = rotation_about_axis(2, angles)
    scores = torch.tensor([3.0, 1.0, 2.0, 9.0])
    assert distinct_mask(rotations, scores, angle=0.15).tolist() == [False, True, False, True]
