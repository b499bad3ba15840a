"""A pair with trees at hand measures and refines as the functions of any clouds do; its frame is given back."""

import numpy as np
import pytest
import torch
from hypothesis import given

from deepume import RigidTransform
from deepume.alignment.nearest_points import IcpSettings, refine_icp
from deepume.alignment.score import SURFACE, score_poses
from deepume.geometry.clouds import rms_radius
from deepume.geometry.neighbors import k_nearest, nearest
from deepume.search.pair import CloudPair, PairFrame
from deepume.transform import rotation_from_vector
from framed_pairs import as_arrays, frame, move_and_frame
from strategies import batch_shapes, random_cloud, random_motion, seeds, worst


def random_pair(n: int, m: int) -> CloudPair:
    return frame(random_cloud(0, n), random_cloud(1, m)).pair


@pytest.mark.parametrize(("n", "m"), [(30, 40), (400, 300)])
def test_scores_are_those_of_the_clouds(n: int, m: int) -> None:
    pair, pose = random_pair(n, m), as_arrays(random_motion(2))
    clouds, fit = (torch.from_numpy(pair.source.points), torch.from_numpy(pair.target.points)), pair.fit(pose)
    poses = pose.to(clouds[0])[None]
    assert abs(fit.score - float(score_poses(*clouds, poses)[0])) < 1e-12
    assert abs(fit.surface_score - float(score_poses(*clouds, poses, SURFACE)[0])) < 1e-6
    assert abs(fit.score - float(pair.score(pose[None])[0])) < 1e-12


def test_the_other_cloud_sees_the_same_fit() -> None:
    pair, pose = random_pair(200, 300), as_arrays(random_motion(2))
    swapped, other = pair.fit(pose).swapped(), pair.swapped().fit(pose.inverse())
    assert worst(swapped.pose.matrix, other.pose.matrix) < 1e-12
    assert abs(swapped.score - other.score) < 1e-12
    assert abs(swapped.surface_score - other.surface_score) < 1e-9


def test_the_search_names_the_clouds_in_one_way() -> None:
    pair = random_pair(200, 300)
    assert pair.ordered is pair
    assert np.array_equal(pair.swapped().ordered.source.points, pair.source.points)


def test_the_tree_at_hand_finds_what_any_search_finds() -> None:
    pair = random_pair(200, 300)
    queries = as_arrays(random_motion(3, 4)).apply(pair.source.points)
    plain = torch.from_numpy(queries), torch.from_numpy(pair.target.points)
    for k in (1, 8):
        found, expected = pair.target.k_nearest(queries, k), k_nearest(*plain, k)
        assert np.array_equal(found.indices, expected.indices)
        assert worst(found.distances, expected.distances) < 1e-12
    assert np.array_equal(pair.target.nearest(queries).indices, nearest(*plain).indices)


def test_few_queries_estimate_the_score_of_all() -> None:
    pair, poses = random_pair(900, 900), as_arrays(random_motion(4, 6))
    estimate, exact = pair.score(poses, queries=pair.quick), pair.score(poses)
    assert worst(pair.score(poses, queries=pair), exact) == 0
    assert np.abs(estimate / exact - 1).max() < 0.15


@pytest.mark.parametrize(("n", "m"), [(80, 80), (400, 300)])
def test_nearest_points_with_trees_at_hand_end_where_they_end_without(n: int, m: int) -> None:
    source, motion = random_cloud(0, n), random_motion(1)
    pair, truth = move_and_frame(source, source[:m] + 0.01 * random_cloud(1, m), motion)
    step = rotation_from_vector(np.array([0.02, 0.01, -0.02]))
    start = (RigidTransform(step, np.zeros(3)) @ truth)[None]
    settings = IcpSettings(iterations=20, tolerance=1e-4)
    clouds = torch.from_numpy(pair.source.points), torch.from_numpy(pair.target.points)
    expected = refine_icp(*clouds, start.to(clouds[0]), settings)
    assert worst(pair.icp(start, settings).matrix, expected.matrix) < 1e-9
    assert worst(start.matrix, expected.matrix) > 1e-2


def test_matches_are_the_nearest_points_both_ways() -> None:
    pair, pose = random_pair(60, 50), as_arrays(random_motion(2))
    fit = pair.fit(pose)
    source, target = fit.matches
    assert len(fit.distances) == 110
    assert worst(np.linalg.norm(pose.apply(source) - target, axis=-1), fit.distances) < 1e-12
    between = np.linalg.norm(pose.apply(pair.source.points)[:, None] - pair.target.points, axis=-1)
    assert worst(fit.distances, np.concat([between.min(1), between.min(0)])) < 1e-9


@pytest.mark.parametrize("own_units", [False, True])
@given(seed=seeds(), batch=batch_shapes())
def test_a_frame_gives_back_what_it_took_away(own_units: bool, seed: int, batch: tuple[int, ...]) -> None:
    source, target = 5 + random_cloud(seed, *batch, 20), 300 * random_cloud(seed + 1, *batch, 30) - 1000
    inside = PairFrame.around(source, target, own_units=own_units)
    clouds, pose = inside.enter_clouds(source, target), random_motion(seed, *batch, scaled=own_units)
    assert worst(inside.source_side.apply(clouds[0]), source) < 1e-9
    assert worst(inside.target_side.apply(clouds[1]), target) < 1e-9
    assert worst(inside.enter(inside.leave(pose)).matrix, pose.matrix) < 1e-9
    assert worst(inside.leave(pose).apply(source), inside.target_side.apply(pose.apply(clouds[0]))) < 1e-9


@given(seed=seeds())
def test_clouds_are_near_the_origin_and_of_unit_size(seed: int) -> None:
    source, target = 1e6 + random_cloud(seed, 20), 300 * random_cloud(seed + 1, 30) - 1000
    few, many = PairFrame.around(source, target).enter_clouds(source, target)
    assert float(rms_radius(many)) == pytest.approx(1)
    assert float(rms_radius(few)) < 0.01
    assert worst(few.mean(-2), torch.zeros(3)) < 1e-9
    similar = PairFrame.around(source, target, own_units=True).enter_clouds(source, target)
    assert [float(rms_radius(each)) for each in similar] == pytest.approx([1, 1])


def test_a_method_that_must_see_where_clouds_lie_sees_it() -> None:
    source = random_cloud(0, 30)
    first, second = PairFrame.around(source, source + 4, centered=False).enter_clouds(source, source + 4)
    gap = second.mean(-2) - first.mean(-2)
    assert worst(gap * rms_radius(source), torch.full((3,), 4.0, dtype=torch.float64)) < 1e-9
