"""Soft partners, one for every point."""

import numpy as np
import pytest
import torch

from deepume import RigidTransform
from deepume.alignment.coupling import couple_points, link_points, scale_likelihoods
from deepume.datasets.pairs.metrics import rotation_error_deg
from deepume.geometry.rotation import solve_motion
from deepume.geometry.searchable import IndexedCloud
from deepume.search.pair import CloudPair
from framed_pairs import POLICY, frame, move_and_frame
from strategies import generator, random_cloud, random_motion

IDENTITY, SETTINGS = RigidTransform.identity(), POLICY.copies.coupling


def noisy_copies(n: int, noise: float) -> tuple[CloudPair, RigidTransform]:
    source, motion = random_cloud(0, n), random_motion(1)
    target = source + noise * torch.randn(n, 3, generator=generator(2), dtype=torch.float64)
    return move_and_frame(source, target, motion)


@pytest.mark.parametrize(("n", "m"), [(40, 40), (300, 300), (10, 30)])
def test_links_are_the_nearest_points_seen_from_both_clouds(n: int, m: int) -> None:
    pair = frame(random_cloud(0, n), random_cloud(1, m)).pair
    links = link_points(pair.source, pair.target, IDENTITY, 16)
    between = np.linalg.norm(pair.source.points[:, None] - pair.target.points, axis=-1)
    near = between <= np.sort(between, axis=1)[:, [min(16, m) - 1]]
    near |= between <= np.sort(between, axis=0)[[min(16, n) - 1]]
    assert np.array_equal(links.matrix(np.ones(len(links.columns))).toarray() > 0, near)


def test_every_point_has_one_partner_in_all() -> None:
    pair, truth = noisy_copies(300, 0.02)
    links = link_points(pair.source, pair.target, truth, 16)
    likely = links.matrix(np.exp(-np.linspace(0, 1, len(links.columns))))
    by_row, scaling = np.ones(300), np.ones(300)
    for _ in range(10):
        by_row, scaling = scale_likelihoods(likely, scaling, 8)
    shares = by_row[:, None] * likely.toarray() * scaling
    assert np.abs(shares.sum(0) - 1).max() < 1e-9
    assert np.abs(shares.sum(1) - 1).max() < 1e-3


@pytest.mark.parametrize("noise", [0.003, 0.03, 0.1])
def test_pose_and_noise_are_nearly_those_that_known_partners_give(noise: float) -> None:
    pair, truth = noisy_copies(600, noise)
    coupling = couple_points(pair.source, pair.target, truth, SETTINGS)
    known = solve_motion(pair.source.points, pair.target.points)
    variance = float(((known.apply(pair.source.points) - pair.target.points) ** 2).mean())
    assert abs((coupling.variance / variance) ** 0.5 - 1) < 0.15
    assert rotation_error_deg(coupling.pose, known) < 2 * float(rotation_error_deg(truth, known))


def test_a_point_far_from_all_others_stays_without_a_partner() -> None:
    pair, truth = noisy_copies(300, 0.001)
    target = pair.target.points.copy()
    target[:3] *= 30
    coupling = couple_points(pair.source, IndexedCloud(target), truth, SETTINGS)
    assert rotation_error_deg(coupling.pose, truth) < 0.5
