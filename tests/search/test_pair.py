"""What is measured of a pose with its partners at hand is what the functions of any clouds measure."""

import pytest
import torch

from deepume.alignment.fit import Fit
from deepume.alignment.indexed_pair import PreparedPair
from deepume.alignment.score import score_poses, surface_score
from deepume.geometry.neighbors import k_nearest, nearest
from deepume.search.pair import prepare_pair
from strategies import random_cloud, random_motion, worst


def random_pair(n: int, m: int) -> PreparedPair:
    return prepare_pair(random_cloud(0, n), random_cloud(1, m))[0]


@pytest.mark.parametrize(("n", "m"), [(30, 40), (400, 300)])
def test_scores_are_those_of_the_clouds(n: int, m: int) -> None:
    pair, pose = random_pair(n, m), random_motion(2)
    clouds, fit = (pair.source.points, pair.target.points), Fit.of(pair, pose)
    assert abs(fit.score - float(score_poses(*clouds, pose[None]))) < 1e-12
    assert abs(fit.surface_score - float(surface_score(*clouds, pose[None]))) < 1e-6
    assert abs(fit.score - float(pair.score(pose[None]))) < 1e-12


def test_the_other_cloud_sees_the_same_fit() -> None:
    pair, pose = random_pair(200, 300), random_motion(2)
    swapped, other = Fit.of(pair, pose).swapped(), Fit.of(pair.swapped(), pose.inverse())
    assert worst(swapped.pose.matrix, other.pose.matrix) < 1e-12
    assert abs(swapped.score - other.score) < 1e-12
    assert abs(swapped.surface_score - other.surface_score) < 1e-9


def test_the_tree_at_hand_finds_what_any_search_finds() -> None:
    pair = random_pair(200, 300)
    queries = random_motion(3, 4).apply(pair.source.points)
    for k in (1, 8):
        found, expected = pair.target.k_nearest(queries, k), k_nearest(queries, pair.target.points, k)
        assert torch.equal(found.indices, expected.indices)
        assert worst(found.distances, expected.distances) < 1e-12
    assert torch.equal(pair.target.nearest(queries).indices, nearest(queries, pair.target.points).indices)


def test_few_askers_estimate_the_score_of_all() -> None:
    pair, poses = random_pair(900, 900), random_motion(4, 6)
    estimate, exact = pair.score(poses, asking=pair.quick), pair.score(poses)
    assert worst(pair.score(poses, asking=pair), exact) == 0
    assert float((estimate / exact - 1).abs().max()) < 0.15
