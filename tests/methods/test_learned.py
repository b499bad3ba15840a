"""The shipped weights behind the protocol: they load, they keep their claims, they find poses."""

import pytest
import torch
from torch import Tensor

from deepume.alignment.ranking import best_distinct
from deepume.alignment.score import score_poses
from deepume.api import register
from deepume.datasets import Law, draw_motion, make_shape
from deepume.datasets.pairs.metrics import rotation_error_deg
from deepume.datasets.pairs.seeds import generator_for
from deepume.geometry.frames import sign_changes
from deepume.geometry.rotation import geodesic_angle
from deepume.geometry.unit_sphere import to_unit_pair
from deepume.methods.claims import check_method, check_proper
from deepume.methods.entry import Claim
from deepume.methods.learned import LEARNED, DefaultNetwork, refine_copies, search_frames
from deepume.networks.deepume import DeepUME, DeepUMEConfig, PaperConfig, PaperDeepUME, nearest_frame_pose
from deepume.networks.loading import load_network, to_double
from deepume.networks.weights_files import FileState, list_weights
from deepume.transform import RigidTransform, rotation_about_axis

TABLE = {entry.name: entry for entry in LEARNED}
SINGLE_PRECISION = 5e-3
"""Networks compute in single precision, and their passes amplify its rounding."""


def make_clouds(family: str, n: int, m: int) -> tuple[Tensor, Tensor, RigidTransform]:
    generator = generator_for(family)
    shape, motion = make_shape(family, generator=generator), draw_motion(Law.HAAR, generator=generator)
    return shape.sample(n, generator=generator), motion.apply(shape.sample(m, generator=generator)), motion


def test_every_published_file_is_there_and_verified() -> None:
    states = {entry.name: entry.state for entry in list_weights()}
    assert set(TABLE) <= set(states)
    assert set(states.values()) == {FileState.VERIFIED}


@pytest.mark.parametrize("name", list(TABLE))
def test_networks_keep_their_claims(name: str) -> None:
    source, target, _ = make_clouds("hammer", 200, 160)
    method, claims = TABLE[name].make(), TABLE[name].claims
    assert Claim.PROPER in claims
    check_proper(method, source, target)
    check_method(method, source, target, claims - {Claim.PROPER}, tolerance=SINGLE_PRECISION)


@pytest.mark.parametrize("family", ["hammer", "airplane", "chair", "quadruped"])
def test_the_default_network_alone_finds_the_pose(family: str) -> None:
    source, target, motion = make_clouds(family, 512, 400)
    result = DefaultNetwork()(source, target)
    assert rotation_error_deg(result.target_from_source, motion) < 4
    assert len(result.hypotheses) >= 2


def test_the_last_word_on_noisy_copies_is_shared_with_their_moments_and_on_others_it_is_not() -> None:
    source, sampled, motion = make_clouds("quadruped", 400, 400)
    noise = 0.02 * torch.randn(800, 3, generator=generator_for("noise"), dtype=torch.float64)
    copy, other = motion.apply(source) + noise[:400], sampled + noise[400:]
    shared = torch.cat([motion.apply(source[:200]), sampled[:200]])
    turn = rotation_about_axis(2, torch.tensor(0.005, dtype=torch.float64))
    near = RigidTransform(motion.rotation @ turn, motion.translation)
    far = RigidTransform(motion.rotation @ turn.matrix_power(300), motion.translation)
    for target, is_copy in ((copy, True), (other, False), (sampled, False), (shared, False)):
        start = motion if target is shared else near
        given = RigidTransform.stack([start, far, start])
        found = refine_copies(source, target, given, start)
        assert torch.equal(found[1].matrix, far.matrix)
        assert bool((found[0].matrix != start.matrix).any()) is is_copy
        assert torch.equal(found[2].matrix, found[0].matrix)


def test_the_default_network_refines_copies_so() -> None:
    source, _, motion = make_clouds("quadruped", 400, 400)
    target = motion.apply(source) + 0.02 * torch.randn(400, 3, generator=generator_for("noise"), dtype=torch.float64)
    network = load_network(DeepUME, DeepUMEConfig, "deepume", torch.device("cpu"))
    clouds = source.float(), target.float()
    found = search_frames(network, *clouds)
    best = best_distinct(found, score_poses(*clouds, found), 1)[0]
    last = to_double(network.average_signs(*clouds, best), source)
    answer = DefaultNetwork()(source, target).target_from_source
    expected = refine_copies(source, target, last[None], last)[0]
    assert torch.allclose(answer.matrix, expected.matrix, atol=1e-6)
    assert not torch.allclose(answer.matrix, last.matrix, atol=1e-6)


def test_the_papers_network_is_exact_without_noise() -> None:
    source, _, motion = make_clouds("quadruped", 300, 10)
    result = TABLE["deepume-paper"].make()(
        source, motion.apply(source)[torch.randperm(300, generator=generator_for("order"))]
    )
    assert rotation_error_deg(result.target_from_source, motion) < 0.01


def test_a_density_gradient_that_spoils_the_four_frames_is_overcome() -> None:
    source, target, motion = make_clouds("quadruped", 300, 1500)
    height = (target - target.mean(0)) @ motion.rotation[:, 0]
    crowded = target[(torch.rand(1500, generator=generator_for("density")) < torch.sigmoid(4 * height / height.std()))]
    four = nearest_frame_pose(source, crowded, torch.from_numpy(sign_changes()))
    assert rotation_error_deg(four, motion) > 20
    assert rotation_error_deg(DefaultNetwork()(source, crowded).target_from_source, motion) < 10


@pytest.mark.parametrize("unit", [1.0, 1000.0])
def test_users_get_from_the_papers_network_what_it_answers_in_the_unit_sphere_it_was_trained_in(unit: float) -> None:
    source, target, _ = make_clouds("quadruped", 300, 300)
    network = load_network(PaperDeepUME, PaperConfig, "deepume-paper", torch.device("cpu"))
    pair = to_unit_pair(source.float(), target.float())
    trained = network(pair.source, pair.target).target_from_source.rotation
    answer = register(unit * source, unit * target, method="deepume-paper", refine=False).target_from_source
    assert torch.rad2deg(geodesic_angle(answer.rotation.float(), trained)) < 0.2
