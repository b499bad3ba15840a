import math

import torch
from hypothesis import given

from deepume.networks.compared.deepgmr import Mixture, fit_mixture, match_mixtures, rotation_invariants, turns_to_next
from network_files import random_network
from pairs import random_motion, skewed_cloud
from strategies import generator, random_cloud, seeds, worst


@given(seed=seeds())
def test_invariants_do_not_turn_and_follow_the_points(seed: int) -> None:
    cloud, rotation = skewed_cloud(2, 30, seed=seed), random_motion(2, seed=seed).rotation
    order = torch.randperm(30, generator=generator(seed))
    invariants = rotation_invariants(cloud, 6)
    assert invariants.shape == (2, 30, 24)
    assert worst(rotation_invariants(cloud @ rotation.mT, 6), invariants) < 1e-6
    assert worst(rotation_invariants(cloud[:, order], 6), invariants[:, order]) < 1e-6


def test_invariants_tell_a_cloud_from_its_mirror_image() -> None:
    cloud = skewed_cloud(30, seed=1)
    mirror = cloud * torch.tensor([-1.0, 1.0, 1.0])
    assert worst(rotation_invariants(cloud, 6), rotation_invariants(mirror, 6)) > 0.1


def test_invariants_are_what_they_say() -> None:
    cloud = skewed_cloud(30, seed=2)
    first = rotation_invariants(cloud, 5).unflatten(-1, (5, 4))[7]
    near = (cloud - cloud[7]).norm(dim=-1).argsort()[1:6]
    assert worst(first[:, 0], cloud[7].norm().expand(5)) < 1e-12
    assert worst(first[:, 1], cloud[near].norm(dim=-1)) < 1e-12
    cosines = (cloud[near] @ cloud[7]) / (cloud[near].norm(dim=-1) * cloud[7].norm())
    assert worst(first[:, 2].cos(), cosines) < 1e-12


def test_turns_go_once_around() -> None:
    angles = torch.tensor([0.3, 2.0, 1.0, 5.0], dtype=torch.float64)
    others = torch.stack([angles.cos(), angles.sin(), torch.linspace(-1, 1, 4).double()], -1)
    turns = turns_to_next(torch.tensor([0.0, 0.0, 2.0]).double().expand(1, 4, 3), others.unsqueeze(-3))
    assert worst(turns, torch.tensor([0.7, 3.0, 1.0, 2 * math.pi - 4.7])) < 1e-6


def test_few_points_are_enough() -> None:
    invariants = rotation_invariants(skewed_cloud(4, seed=3), 6)
    assert invariants.shape == (4, 24)
    assert bool(torch.isfinite(invariants).all())


@given(seed=seeds())
def test_hard_assignments_give_the_means_and_variances_of_the_parts(seed: int) -> None:
    points = random_cloud(seed, 12)
    mixture = fit_mixture(points, torch.eye(3, dtype=torch.float64).repeat_interleave(4, 0))
    parts = points.unflatten(0, (3, 4))
    assert worst(mixture.shares, torch.full((3,), 1 / 3)) < 1e-6
    assert worst(mixture.means, parts.mean(-2)) < 1e-12
    assert worst(mixture.variances, parts.var(-2, correction=0).sum(-1)) < 1e-12


def test_a_component_without_points_is_finite() -> None:
    mixture = fit_mixture(random_cloud(0, 12), torch.eye(2, dtype=torch.float64)[torch.zeros(12, dtype=torch.long)])
    assert all(bool(torch.isfinite(part).all()) for part in mixture)


@given(seed=seeds())
def test_a_moved_mixture_gives_the_motion(seed: int) -> None:
    means, motion = skewed_cloud(2, 8, seed=seed), random_motion(2, seed=seed)
    shares = torch.rand(2, 8, generator=generator(seed), dtype=torch.float64) + 0.1
    source = Mixture(shares / shares.sum(-1, keepdim=True), means, shares)
    found = match_mixtures(source, source._replace(means=motion.apply(means)))
    assert worst(found.rotation, motion.rotation) < 1e-9
    assert worst(found.translation, motion.translation) < 1e-9


def test_its_second_answer_is_that_of_the_swapped_pair() -> None:
    network, source, target = random_network("deepgmr").double(), skewed_cloud(30, seed=1) + 1, skewed_cloud(25, seed=2)
    there, back = network(source, target), network(target, source)
    assert worst(there.source_from_target.matrix, back.target_from_source.matrix) < 1e-9
    assert worst(there.target_from_source.matrix, back.source_from_target.matrix) < 1e-9
    assert worst(there.target_from_source.matrix, back.target_from_source.matrix) > 1e-3


def test_a_vague_component_counts_less() -> None:
    means = skewed_cloud(8, seed=1)
    moved = means.clone()
    moved[0] += 1.0
    variances = torch.ones(8, dtype=torch.float64)
    source = Mixture(torch.full((8,), 1 / 8, dtype=torch.float64), means, variances)
    vague = torch.cat([torch.full((1,), 1e6, dtype=torch.float64), variances[1:]])
    errors = [
        worst(match_mixtures(source, Mixture(source.shares, moved, each)).rotation, torch.eye(3))
        for each in (variances, vague)
    ]
    assert errors[1] < errors[0] / 2
