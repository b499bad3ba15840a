import pytest
import torch
from hypothesis import given, settings
from torch import Tensor

from deepume import RigidTransform
from deepume.alignment.score import NEAREST, SURFACE, Measure, chance_of, explains_as_well, score_poses
from deepume.datasets import make_shape
from deepume.geometry.spacing import sampling_distance
from deepume.transform import rotation_from_vector
from strategies import batch_shapes, dtypes, generator, random_cloud, random_motion, seeds, worst
from tolerances import EXACT_FIT

Batch = tuple[int, ...]


def samplings(family: str, n: int, m: int, seed: int = 0) -> tuple[Tensor, Tensor]:
    shape = make_shape(family, generator=generator(seed))
    return shape.sample(n, generator=generator(seed + 1)), shape.sample(m, generator=generator(seed + 2))


def candidates(seed: int, *batch: int, dtype: torch.dtype = torch.float64) -> RigidTransform:
    return random_motion(seed, *batch, dtype=dtype)


@pytest.mark.parametrize("measure", [NEAREST, SURFACE])
@given(seed=seeds(), batch=batch_shapes(), dtype=dtypes())
@settings(max_examples=10)
def test_scores_are_zero_on_identical_clouds_only(
    measure: Measure, seed: int, batch: Batch, dtype: torch.dtype
) -> None:
    source, motion = random_cloud(seed, *batch, 60, dtype=dtype), random_motion(seed, *batch, dtype=dtype)
    poses = RigidTransform.stack([motion, candidates(seed + 1, *batch, dtype=dtype)])
    values = score_poses(source, motion.apply(source), poses, measure)
    assert values.shape == (*batch, 2)
    assert values[..., 0].max() < EXACT_FIT[dtype]
    assert values[..., 1].min() > 0.01
    assert values.max() <= 4


@pytest.mark.parametrize("family", ["chair", "mug", "body"])
@pytest.mark.parametrize(("n", "m"), [(100, 100), (1500, 1500), (300, 1500), (1500, 300)])
def test_two_samplings_in_the_true_pose_score_about_one(family: str, n: int, m: int) -> None:
    source, target = samplings(family, n, m)
    motion = random_motion(0)
    assert (
        0.75
        < float(score_poses(source, motion.apply(target), motion[None])[0])
        < 1.35 * max(1, (n / m) ** 0.5, (m / n) ** 0.5)
    )


@pytest.mark.parametrize("measure", [NEAREST, SURFACE])
@given(seed=seeds(), batch=batch_shapes())
@settings(max_examples=10)
def test_scores_do_not_know_which_cloud_is_the_source_nor_where_nor_in_what_unit(
    measure: Measure, seed: int, batch: Batch
) -> None:
    source, target = random_cloud(seed, *batch, 40), random_cloud(seed + 1, *batch, 55)
    poses = candidates(seed, *batch, 3)
    values = score_poses(source, target, poses, measure)
    assert worst(score_poses(target, source, poses.inverse(), measure), values) < 1e-9
    turn = random_motion(seed + 2, *batch, 1, scaled=True)
    moved = score_poses(source, turn[..., 0].apply(target), turn @ poses, measure)
    assert worst(moved, values) < 1e-9
    larger = RigidTransform(poses.rotation, 1000 * poses.translation)
    assert worst(score_poses(1000 * source, 1000 * target, larger, measure), values) < 1e-9


def test_surface_scores_prefer_the_truth_where_nearest_points_do_not() -> None:
    preferred = {SURFACE: 0, NEAREST: 0}
    steps = 0.01 * torch.randn(40, 3, generator=generator(0), dtype=torch.float64)
    rotations = torch.cat([torch.eye(3, dtype=torch.float64)[None], rotation_from_vector(steps)])
    poses = RigidTransform(rotations, torch.zeros(41, 3, dtype=torch.float64))
    for family in ("blob", "teapot", "boat"):
        source, target = samplings(family, 800, 800)
        for measure in preferred:
            values = score_poses(source, target, poses, measure)
            preferred[measure] += int((values < values[0]).sum())
    assert preferred[SURFACE] < 0.2 * preferred[NEAREST]


def test_repeated_points_have_a_spacing() -> None:
    assert float(sampling_distance(random_cloud(0, 5).repeat(3, 1))) > 0


def test_rivals_within_chance_and_within_rounding_are_equivalent() -> None:
    scores = torch.tensor([1.0, 1.02, 1.2], dtype=torch.float64)
    assert explains_as_well(scores, chance_of(2000)).tolist() == [True, True, False]
    assert explains_as_well(scores, chance_of(20)).tolist() == [True, True, True]
    exact = torch.tensor([1e-16, 9e-16, 0.5], dtype=torch.float64)
    assert explains_as_well(exact, chance_of(2000)).tolist() == [True, True, False]
