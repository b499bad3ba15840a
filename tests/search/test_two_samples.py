"""The two-sample test: nothing to report of random halves, much of a shifted half."""

import torch
from torch import Tensor

from deepume.geometry.searchable import IndexedCloud
from deepume.search.judgement.two_samples import sample_gap
from deepume.search.pair import CloudPair
from deepume.transform import RigidTransform
from framed_pairs import POLICY
from strategies import generator, random_cloud


def gap(source: Tensor, target: Tensor) -> float:
    pair = CloudPair(IndexedCloud(source), IndexedCloud(target), POLICY)
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
