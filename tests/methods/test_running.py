import time

import pytest
import torch
from hypothesis import given

from deepume import RigidTransform
from deepume.api import find_method
from deepume.geometry.clouds import rms_radius
from deepume.methods.running import Settings, Stopwatch, normalize_pair, register_pair
from strategies import batch_shapes, random_cloud, random_motion, seeds, worst

Batch = tuple[int, ...]


@pytest.mark.parametrize("name", ["pca", "identity"])
@pytest.mark.parametrize("allow_scale", [False, True])
@given(seed=seeds(), batch=batch_shapes())
def test_normalization_is_undone(name: str, allow_scale: bool, seed: int, batch: Batch) -> None:
    source, target = 5 + random_cloud(seed, *batch, 20), 300 * random_cloud(seed + 1, *batch, 30) - 1000
    pair = normalize_pair(source, target, find_method(name), Settings(allow_scale=allow_scale))
    assert worst(pair.source_from_normal.apply(pair.source), source) < 1e-9
    assert worst(pair.target_from_normal.apply(pair.target), target) < 1e-9
    pose = random_motion(seed, *batch, scaled=True)
    assert worst(pair.to_normal(pair.from_normal(pose)).matrix, pose.matrix) < 1e-9
    moved = pair.target_from_normal.apply(pose.apply(pair.source))
    assert worst(pair.from_normal(pose).apply(source), moved) < 1e-9


@given(seed=seeds())
def test_clouds_are_near_the_origin_and_of_unit_size(seed: int) -> None:
    source, target = 1e6 + random_cloud(seed, 20), 300 * random_cloud(seed + 1, 30) - 1000
    rigid = normalize_pair(source, target, find_method("pca"), Settings())
    assert float(rms_radius(rigid.target)) == pytest.approx(1)
    assert float(rms_radius(rigid.source)) < 0.01
    assert worst(rigid.source.mean(-2), torch.zeros(3)) < 1e-9
    similar = normalize_pair(source, target, find_method("pca"), Settings(allow_scale=True))
    assert float(rms_radius(similar.source)) == pytest.approx(1)
    assert float(rms_radius(similar.target)) == pytest.approx(1)


def test_a_method_that_must_see_where_clouds_lie_sees_it() -> None:
    source = random_cloud(0, 30)
    pair = normalize_pair(source, source + 4, find_method("identity"), Settings())
    gap = pair.target.mean(-2) - pair.source.mean(-2)
    assert worst(gap * rms_radius(source), torch.full((3,), 4.0, dtype=torch.float64)) < 1e-9


@pytest.mark.parametrize("refine", [False, True])
@pytest.mark.parametrize("name", ["pca", "icp", "frames-gicp"])
def test_a_batch_gives_what_its_members_give(name: str, refine: bool) -> None:
    sources, motions = random_cloud(0, 2, 70), random_motion(0, 2)
    targets = motions.apply(sources[:, :60] + 0.01 * random_cloud(1, 2, 60))
    settings = Settings(refine=refine)
    batch = register_pair(sources, targets, find_method(name), settings, Stopwatch())
    for k in range(2):
        alone = register_pair(sources[k], targets[k], find_method(name), settings, Stopwatch())
        assert worst(batch[k].target_from_source.matrix, alone.target_from_source.matrix) < 1e-9
        assert worst(batch[k].score, alone.score) < 1e-9


def test_every_hypothesis_is_in_the_unit_of_the_target() -> None:
    source, motion = random_cloud(0, 60), random_motion(0)
    target = 50 * motion.apply(source)
    result = register_pair(50 * source, target, find_method("pca"), Settings(), Stopwatch())
    for each in result.hypotheses:
        carried = each.target_from_source.apply(50 * source.mean(-2, keepdim=True))
        assert worst(carried, target.mean(-2, keepdim=True)) < 5
    assert result.residuals is not None
    assert result.residuals.max() < 1e-9
    assert all(torch.equal(each.target_from_source.scale, torch.tensor(1.0).double()) for each in result.hypotheses)


def test_residuals_are_in_the_unit_of_the_target() -> None:
    source, target = 50 * random_cloud(0, 60), 50 * random_motion(0).apply(random_cloud(1, 70))
    result = register_pair(source, target, find_method("pca"), Settings(allow_scale=True), Stopwatch())
    assert result.residuals is not None
    moved = result.target_from_source.apply(source)
    assert worst(result.residuals, torch.cdist(moved, target).amin(-1)) < 1e-6


def test_an_initial_pose_alone_can_be_taken_unrefined() -> None:
    source, motion = random_cloud(0, 60), random_motion(0)
    settings = Settings(refine=False, initial=motion)
    result = register_pair(source, motion.apply(source), find_method("identity"), settings, Stopwatch())
    assert worst(result.target_from_source.matrix, motion.matrix) < 1e-9
    stranger = Settings(refine=False, initial=RigidTransform.identity())
    result = register_pair(source, motion.apply(source), find_method("pca"), stranger, Stopwatch())
    assert worst(result.target_from_source.matrix, motion.matrix) < 1e-9


def test_a_stopwatch_adds_up_by_stage() -> None:
    watch = Stopwatch()
    for name in ("a", "b", "a"):
        with watch.stage(name):
            time.sleep(0.002)
    assert list(watch.seconds) == ["a", "b"]
    assert watch.seconds["a"] >= 0.004
