import pytest
import torch
from hypothesis import given

from deepume.geometry.rotation import solve_motion
from deepume.geometry.unit_sphere import to_unit_pair
from deepume.networks.compared.dcp import Dcp, DcpConfig, soft_partners
from deepume.networks.estimate import Pair
from network_files import random_network
from pairs import random_motion, skewed_cloud
from strategies import random_cloud, seeds, worst


@given(seed=seeds())
def test_partners_lie_within_the_target(seed: int) -> None:
    target = random_cloud(seed, 2, 12)
    features = Pair(random_cloud(seed + 1, 2, 9), random_cloud(seed + 2, 2, 12))
    partners = soft_partners(features, target)
    assert partners.shape == (2, 9, 3)
    assert bool((partners >= target.amin(-2, keepdim=True) - 1e-12).all())
    assert bool((partners <= target.amax(-2, keepdim=True) + 1e-12).all())


@given(seed=seeds())
def test_unmistakable_features_find_the_true_partners_and_the_motion(seed: int) -> None:
    source, motion = skewed_cloud(20, seed=seed), random_motion(seed=seed)
    order = torch.randperm(20, generator=torch.Generator().manual_seed(seed))
    code = 1e3 * torch.eye(20, dtype=torch.float64)
    partners = soft_partners(Pair(code, code[order]), motion.apply(source)[order])
    assert worst(partners, motion.apply(source)) < 1e-9


def test_version_one_describes_a_cloud_without_the_other() -> None:
    source, target, other = (skewed_cloud(40, seed=seed, dtype=torch.float32) for seed in (1, 2, 3))
    for name, depends in (("dcp-v1", False), ("dcp", True)):
        network = random_network(name)
        assert isinstance(network, Dcp)
        features = [_features(network, source, cloud) for cloud in (target, other)]
        assert bool(worst(*features) > 1e-4) == depends


@pytest.mark.parametrize("name", ["dcp-v1", "dcp"])
def test_both_clouds_are_described_alike_before_partners_are_sought(name: str) -> None:
    network, source, target = random_network(name).double(), skewed_cloud(30, seed=1), skewed_cloud(25, seed=2)
    assert isinstance(network, Dcp)
    pair = to_unit_pair(source, target)
    of_source, of_target = _features(network, *pair[:2]), _features(network, pair.target, pair.source)
    found = network(source, target)
    assert worst(found.partners, soft_partners(Pair(of_source, of_target), pair.target)) < 1e-9
    assert worst(found.target_from_source.rotation, solve_motion(pair.source, found.partners).rotation) < 1e-9


def _features(network: Dcp, source: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    own = network.describe(source)
    return own if network.attend is None else own + network.attend(own, network.describe(target))


def test_rotating_the_source_changes_its_features_so_dcp_is_not_equivariant() -> None:
    network = random_network("dcp")
    source, target, motion = skewed_cloud(60, seed=1), skewed_cloud(60, seed=2), random_motion(seed=4)
    rotation = motion.rotation.float()
    before = network(source.float(), target.float()).target_from_source.rotation
    after = network(source.float() @ rotation.mT, target.float()).target_from_source.rotation
    assert worst(after @ rotation, before) > 0.1


def test_version_two_has_the_published_size() -> None:
    counts = [sum(p.numel() for p in Dcp(DcpConfig(attention=attention)).parameters()) for attention in (False, True)]
    assert counts == [309_632, 5_568_896]
