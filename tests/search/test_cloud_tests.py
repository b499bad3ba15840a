"""Random halves of a cloud are two samples of one thing; a cloud seen from one side hides little of itself."""

import numpy as np
import torch
from torch import Tensor

from deepume.search.judgement.cloud_tests import _pictures, hidden_share, sample_gap
from deepume.search.pair import CloudPair
from deepume.transform import RigidTransform
from framed_pairs import POLICY, index
from strategies import generator, random_cloud, random_motion


def gap(source: Tensor, target: Tensor) -> float:
    pair = CloudPair(index(source), index(target), POLICY)
    return sample_gap(pair, RigidTransform.identity())


def test_random_halves_of_a_cloud_differ_by_chance_alone() -> None:
    points, draws = random_cloud(0, 120), generator(1)
    gaps = []
    for _ in range(200):
        order = torch.randperm(len(points), generator=draws)
        gaps.append(gap(points[order[:50]], points[order[50:]]))
    # In standard deviations of chance: their mean is 0 within 3 / sqrt(200), their spread about 1.
    assert abs(sum(gaps) / len(gaps)) < 0.21
    assert 0.7 < float(torch.tensor(gaps).std()) < 1.3


def test_it_does_not_matter_who_is_called_source_and_a_shift_is_seen() -> None:
    first, second = random_cloud(0, 90), random_cloud(1, 70)
    assert abs(gap(first, second) - gap(second, first)) < 1e-9
    assert gap(first, second + 1) > 10 > abs(gap(first, second))


def sphere(n: int, seed: int) -> Tensor:
    points = torch.randn(n, 3, generator=generator(seed), dtype=torch.float64)
    return points / points.norm(dim=-1, keepdim=True)


def hidden(points: Tensor) -> float:
    return hidden_share(index(points - points.mean(0)), POLICY.evidence)


def test_of_a_sphere_many_neighbors_in_a_picture_are_on_the_other_side_of_a_hemisphere_few() -> None:
    for count in (80, 1000):
        wholes = [sphere(count, seed) for seed in range(8)]
        halves = [whole[whole @ whole.new_tensor([0.6, 0.0, 0.8]) > 0] for whole in wholes]
        many, few = (sum(map(hidden, clouds)) / 8 for clouds in (wholes, halves))
        assert 0.25 < many < 0.5  # the least of 25 pictures
        assert few < 0.1  # at the steep rim


def test_it_turns_with_the_cloud_and_does_not_depend_on_its_size() -> None:
    points = sphere(200, 1) * torch.tensor([1.0, 0.7, 0.4], dtype=torch.float64)
    assert hidden(points) == hidden(random_motion(2).apply(points)) == hidden(100 * points)


def test_pictures_are_taken_across_their_directions_which_exchanges_of_axes_leave_in_place() -> None:
    directions, planes = _pictures()
    assert directions.shape == (25, 3)
    across = np.concat([directions[..., None], planes], -1)
    assert np.allclose(across.mT @ across, np.eye(3), atol=1e-12)
    turned = directions[:, [1, 2, 0]] * [1, -1, 1]
    assert np.allclose(np.abs(turned @ directions.T).max(-1), 1)
