"""Iterative closest points with trees at hand is iterative closest points."""

import pytest
import torch

from deepume import RigidTransform
from deepume.alignment.nearest_points import IcpSettings
from deepume.alignment.soft_matching import bring_points_closer, match_points
from deepume.search.pair import prepare_pair
from deepume.transform import rotation_from_vector
from strategies import random_cloud, random_motion, worst


@pytest.mark.parametrize(("n", "m"), [(80, 80), (400, 300)])
def test_it_ends_where_icp_ends(n: int, m: int) -> None:
    source = random_cloud(0, n)
    motion = random_motion(1)
    pair, placement = prepare_pair(source, motion.apply(source[:m] + 0.01 * random_cloud(1, m)))
    step = rotation_from_vector(torch.tensor([0.02, 0.01, -0.02], dtype=torch.float64))
    start = RigidTransform(step, torch.zeros(3, dtype=torch.float64)) @ placement.enter(motion[None])[0]
    expected = pair.icp(start[None], IcpSettings(iterations=20, tolerance=1e-4))[0]
    assert worst(bring_points_closer(pair, start).matrix, expected.matrix) < 1e-3
    assert worst(start.matrix, expected.matrix) > 1e-2


def test_matches_are_the_nearest_points_both_ways() -> None:
    pair, pose = prepare_pair(random_cloud(0, 60), random_cloud(1, 50))[0], random_motion(2)
    matches = match_points(pair, pose)
    assert len(matches.distances) == 110
    assert (
        worst(torch.linalg.vector_norm(pose.apply(matches.source) - matches.target, dim=-1), matches.distances) < 1e-12
    )
    apart = torch.cdist(pose.apply(pair.source.points), pair.target.points)
    assert worst(matches.distances, torch.cat([apart.amin(1), apart.amin(0)])) < 1e-9
