import time

import pytest
import torch

from deepume import RigidTransform
from deepume.api import find_method
from deepume.methods.running import Settings, Stopwatch, register_pair
from strategies import random_cloud, random_motion, worst


@pytest.mark.parametrize("refine", [False, True])
@pytest.mark.parametrize("name", ["pca", "icp", "frames-gicp"])
def test_a_batch_gives_what_its_members_give(name: str, refine: bool) -> None:
    sources, motions = random_cloud(0, 2, 70), random_motion(0, 2)
    targets = motions.apply(sources[:, :60] + 0.01 * random_cloud(1, 2, 60))
    settings = Settings(refine=refine)
    batch = register_pair(sources, targets, find_method(name), settings, Stopwatch())
    for k in range(2):
        single = register_pair(sources[k], targets[k], find_method(name), settings, Stopwatch())
        assert worst(batch[k].target_from_source.matrix, single.target_from_source.matrix) < 1e-9
        assert worst(batch[k].score, single.score) < 1e-9


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


def test_an_initial_pose_can_be_taken_unrefined() -> None:
    source, motion = random_cloud(0, 60), random_motion(0)
    settings = Settings(refine=False, initial=motion)
    result = register_pair(source, motion.apply(source), find_method("identity"), settings, Stopwatch())
    assert worst(result.target_from_source.matrix, motion.matrix) < 1e-9
    stranger = Settings(refine=False, initial=RigidTransform.identity(source))
    result = register_pair(source, motion.apply(source), find_method("pca"), stranger, Stopwatch())
    assert worst(result.target_from_source.matrix, motion.matrix) < 1e-9


def test_a_stopwatch_adds_up_by_stage() -> None:
    watch = Stopwatch()
    for name in ("a", "b", "a"):
        with watch.stage(name):
            time.sleep(0.002)
    assert list(watch.seconds) == ["a", "b"]
    assert watch.seconds["a"] >= 0.004
