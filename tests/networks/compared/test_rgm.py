import numpy as np
import torch
from hypothesis import given

from deepume.geometry.unit_sphere import to_unit_pair
from deepume.networks.compared.rgm import GraphMatching, Rgm, RgmConfig, _solve_pairs, pair_off
from deepume.networks.estimate import Pair
from network_files import random_network
from pairs import random_motion, skewed_cloud
from strategies import generator, seeds, worst


def soft(order: np.ndarray, sure: float = 0.9) -> np.ndarray:
    """A soft assignment that is almost a permutation."""
    matrix = np.full((len(order), len(order)), (1 - sure) / (len(order) - 1))
    matrix[np.arange(len(order)), order] = sure
    return matrix


@given(seed=seeds())
def test_a_soft_permutation_is_found_again(seed: int) -> None:
    order = np.random.default_rng(seed).permutation(9)
    partners, weights = pair_off(soft(order))
    assert (partners == order).all()
    assert (weights == 1).all()


def test_points_without_a_partner_take_no_part() -> None:
    order = np.array([3, 1, 0, 2, 4])
    matrix = soft(order)
    matrix[1], matrix[:, 4] = 0.01, 0.01
    partners, weights = pair_off(matrix)
    assert weights.tolist() == [1, 0, 1, 1, 0]
    assert partners[[0, 2, 3]].tolist() == [3, 0, 2]


def test_where_nothing_is_sure_all_points_take_part() -> None:
    partners, weights = pair_off(0.001 * soft(np.array([2, 0, 1])))
    assert partners.tolist() == [2, 0, 1]
    assert weights.tolist() == [1, 1, 1]


@given(seed=seeds())
def test_true_pairs_give_the_motion(seed: int) -> None:
    source, motion = skewed_cloud(2, 9, seed=seed), random_motion(2, seed=seed)
    order = np.random.default_rng(seed).permutation(9)
    target = torch.empty_like(source)
    target[:, order] = motion.apply(source)
    pair = to_unit_pair(source, target)
    found = pair.restore(_solve_pairs(pair, torch.tensor(soft(order)).expand(2, 9, 9)))
    assert worst(found.rotation, motion.rotation) < 1e-9
    assert worst(found.translation, motion.translation) < 1e-9


def test_the_soft_assignment_permutes_with_the_points_and_ignores_translations() -> None:
    network = random_network("rgm").double()
    assert isinstance(network, Rgm)
    source, target = skewed_cloud(30, seed=1), skewed_cloud(30, seed=2)
    order = torch.randperm(30, generator=torch.Generator().manual_seed(0))
    assignment = network.log_assignment(source, target)
    assert worst(network.log_assignment(source[order], target), assignment[order]) < 1e-9
    assert worst(network.log_assignment(source, target[order]), assignment[:, order]) < 1e-9
    assert worst(network.log_assignment(source + 5, target - 2), assignment) < 1e-9
    assert float(assignment.exp().sum(-2).max()) <= 1


def test_affinities_do_not_prefer_a_side() -> None:
    layer = GraphMatching(RgmConfig(width=8, heads=2, hidden=8)).double()
    nodes = Pair(torch.randn(9, 8, generator=generator(0)).double(), torch.randn(9, 8, generator=generator(1)).double())
    assert worst(layer._affinities(nodes), layer._affinities(Pair(nodes.target, nodes.source)).mT) < 1e-12


def test_what_points_send_along_their_edges_arrives_in_full() -> None:
    layer = GraphMatching(RgmConfig(width=8, heads=2, hidden=8)).double()
    layer.get_parameter("of_self.weight").data.zero_()
    layer.get_parameter("of_self.bias").data.zero_()
    features, context = (torch.randn(9, 8, generator=generator(seed)).double() for seed in (0, 1))
    sent = layer.of_neighbors(features).relu()
    assert worst(layer._propagate(features, context).sum(-2), sent.sum(-2)) < 1e-12


def test_the_width_fits_the_room_for_weights() -> None:
    state = Rgm(RgmConfig()).state_dict()
    assert sum(value.numel() for value in state.values()) * 2 < 4 * 2**20
