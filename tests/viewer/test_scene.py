import math

import pytest
import torch
from hypothesis import given

from deepume import RigidTransform
from deepume.geometry.rotation import geodesic_angle
from deepume.viewer.scene import FAR, NEAR, blend, make_scene
from pairs import random_motion, skewed_cloud
from strategies import seeds


def offset(x: float) -> torch.Tensor:
    return torch.tensor([x, 0.0, 0.0], dtype=torch.float64)


@given(seed=seeds())
def test_a_pose_and_its_place_in_the_scene_are_one_to_one(seed: int) -> None:
    scene, pose = make_scene(skewed_cloud(60, seed=seed), skewed_cloud(70, seed=seed + 1)), random_motion(seed=seed)
    torch.testing.assert_close(scene.pose(scene.place(pose)).matrix, pose.matrix)


@given(seed=seeds())
def test_what_is_placed_by_a_pose_lies_where_the_pose_puts_it(seed: int) -> None:
    scene, pose = make_scene(skewed_cloud(60, seed=seed), skewed_cloud(70, seed=seed + 1)), random_motion(seed=seed)
    drawn = scene.place(pose).apply(scene.local_source)
    torch.testing.assert_close(drawn, scene.scene_from_target.apply(pose.apply(scene.source)))
    assert float(scene.place(pose).scale) == pytest.approx(1)


@given(seed=seeds())
def test_the_picture_does_not_depend_on_where_the_files_put_the_pair(seed: int) -> None:
    source, target, motion = skewed_cloud(60, seed=seed), skewed_cloud(70, seed=seed + 1), random_motion(seed=seed)
    scale = RigidTransform(motion.rotation, 1e3 * motion.translation, torch.tensor(1e3, dtype=torch.float64))
    plain, moved = make_scene(source, target), make_scene(scale.apply(source), scale.apply(target))
    torch.testing.assert_close(moved.scene_target, plain.scene_target)
    drawn, drawn_moved = (scene.start.apply(scene.local_source) for scene in (plain, moved))
    torch.testing.assert_close(drawn_moved, drawn)


def test_clouds_far_from_the_origin_are_drawn_as_sharply_in_single_precision() -> None:
    source, target = skewed_cloud(60, seed=1), skewed_cloud(70, seed=2)
    near, far = make_scene(source, target), make_scene(source + 5e6, target + 5e6)
    for name in ("local_source", "scene_target"):
        assert float((getattr(near, name) - getattr(far, name)).abs().max()) < 1e-7


def test_clouds_too_far_apart_are_drawn_nearer_and_others_are_not() -> None:
    source, target = skewed_cloud(60, seed=1), skewed_cloud(70, seed=2)
    radius = float(make_scene(source, target).file_from_local.scale)
    distant = make_scene(source + offset(100 * FAR * radius), target)
    assert distant.distance > 90 * FAR
    assert float(distant.start.translation.norm()) == pytest.approx(NEAR)
    close = make_scene(source + offset(2 * radius), target)
    torch.testing.assert_close(close.start.matrix, close.place(RigidTransform.identity(close.local_source)).matrix)


def test_large_clouds_are_thinned_and_residuals_are_measured_to_all_points() -> None:
    source, target = skewed_cloud(300, seed=1), skewed_cloud(400, seed=2)
    scene = make_scene(source, target, shown=50)
    assert (len(scene.source), len(scene.target), scene.source_size) == (50, 50, 300)
    expected = torch.cdist(scene.source, target).amin(-1)
    torch.testing.assert_close(scene.residuals(RigidTransform.identity(scene.local_source)), expected)


def test_points_that_are_not_finite_are_left_out() -> None:
    source, target = skewed_cloud(60, seed=1), skewed_cloud(70, seed=2)
    holes = torch.cat([source, torch.tensor([[torch.nan, 0, 0]]).double()])
    assert make_scene(holes, target).source_size == 60


def test_the_floor_is_the_distance_between_neighbors_in_the_target() -> None:
    grid = torch.cartesian_prod(*3 * [torch.arange(5, dtype=torch.float64)])
    assert make_scene(grid, torch.cat([grid, grid])).floor == pytest.approx(1)


@given(seed=seeds())
def test_a_blend_starts_and_ends_where_it_should_and_turns_evenly(seed: int) -> None:
    start, end = random_motion(seed=seed), random_motion(seed=seed + 1)
    torch.testing.assert_close(blend(start, end, 0.0).matrix, start.matrix)
    torch.testing.assert_close(blend(start, end, 1.0).matrix, end.matrix)
    whole = float(geodesic_angle(start.rotation, end.rotation))
    third = float(geodesic_angle(start.rotation, blend(start, end, 1 / 3).rotation))
    assert math.isclose(third, whole / 3, abs_tol=1e-6)
