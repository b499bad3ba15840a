"""Symmetry by name, and what it explains."""

import numpy as np
import pytest
import torch
from torch import Tensor

from deepume import Registration, RigidTransform, Symmetry, register
from deepume.datasets import make_shape
from deepume.search.judgement import symmetry
from deepume.search.judgement.symmetry import explains, find_symmetry
from deepume.search.pair import CloudPair
from deepume.search.policy import Effort
from deepume.search.sampling.relation import Finish
from deepume.search.sampling.surfaces import SURFACES
from deepume.transform import rotation_from_vector
from framed_pairs import POLICY, frame
from strategies import generator, random_motion, worst

X, Z = np.eye(3)[0], np.eye(3)[2]


def registered(family: str, n: int = 700) -> tuple[Registration, RigidTransform, Tensor]:
    """Result, true motion, and the axes of the shape as the target has them."""
    shape, motion = make_shape(family, generator=generator(2)), random_motion(6)
    source, target = (shape.sample(n, generator=generator(k)) for k in (3, 4))
    return register(source, motion.apply(target)), motion, shape.symmetry.axes @ motion.rotation.mT


@pytest.mark.parametrize(
    ("family", "order"), [("pyramid", 4), ("cone", 0), ("vase", 0), ("nut", 6), ("table", 2), ("tetrahedron", 3)]
)
def test_axes_and_orders_are_named(family: str, order: int) -> None:
    result, _, axes = registered(family)
    assert result.symmetry is not None
    assert result.symmetry.orders[0] == order
    assert float((result.symmetry.axes @ axes.mT).abs().max()) > 0.99
    assert not bool(result.ambiguous)
    words = "by any angle" if order == 0 else f"by 1/{order}"
    assert f"looks the same when turned {words} about" in result.explain()


@pytest.mark.parametrize("family", ["airplane", "chair", "body", "boat"])
def test_an_object_without_symmetry_has_none(family: str) -> None:
    result, _, _ = registered(family)
    assert result.symmetry is not None
    assert result.symmetry.orders == ()
    assert "looks the same" not in result.explain()


def test_every_pose_of_a_symmetric_object_that_is_called_equal_differs_by_a_symmetry() -> None:
    result, motion, _ = registered("pyramid")
    quarter = make_shape("pyramid", generator=generator(2)).symmetry.rotations()
    for each in result.hypotheses:
        turn = motion.rotation.mT @ each.target_from_source.rotation
        nearest = float((turn - quarter).abs().amax((-2, -1)).min())
        assert (nearest < 0.1) == bool(each.equivalent)


def turn(axis: np.ndarray, degrees: float) -> np.ndarray:
    return rotation_from_vector(np.deg2rad(degrees) * axis)


def test_a_symmetry_explains_its_own_turns_and_no_others() -> None:
    fourfold = Symmetry(Z[None], (4,))
    assert all(explains(fourfold, turn(Z, degrees), POLICY.turns) for degrees in (0, 90, 180, 270, 93))
    assert not any(explains(fourfold, turn(Z, degrees), POLICY.turns) for degrees in (45, 60, 120))
    assert not explains(fourfold, turn(X, 90), POLICY.turns)
    vase = Symmetry(Z[None], (0,))
    assert all(explains(vase, turn(Z, degrees), POLICY.turns) for degrees in range(0, 360, 7))
    assert not explains(vase, turn(X, 180), POLICY.turns)
    cylinder = Symmetry(np.stack([Z, X]), (0, 2))
    assert explains(cylinder, turn(Z, 50) @ turn(X, 180), POLICY.turns)
    assert not explains(cylinder, turn(X, 90), POLICY.turns)
    assert explains(Symmetry(np.stack([Z, X]), (0, 0)), random_motion(0).rotation.numpy(), POLICY.turns)
    assert not explains(Symmetry(np.zeros((0, 3)), ()), turn(Z, 90), POLICY.turns)


def test_equals_that_symmetry_does_not_explain_are_ambiguous(monkeypatch: pytest.MonkeyPatch) -> None:
    pair, truth = two_samplings("pyramid", 500)
    monkeypatch.setattr(symmetry, "explains_as_well", lambda scores, _: np.ones_like(scores, bool))
    for degrees, expected in ((90, False), (180, False), (45, True), (120, True)):
        turned = RigidTransform(turn(Z, degrees), np.zeros(3)) @ truth
        poses = RigidTransform.stack([truth, turned])
        assert (
            bool(SURFACES.compare(pair, Finish(pair.fit(truth), SURFACES), poses, pair.score(poses)).ambiguous)
            is expected
        )


def two_samplings(family: str, n: int, effort: Effort = Effort.AUTO) -> tuple[CloudPair, RigidTransform]:
    """A pair that lies as it should, and its true pose."""
    shape = make_shape(family, generator=generator(2))
    source, target = (shape.sample(n, generator=generator(k)) for k in (3, 4))
    framed = frame(source, target, effort)
    return framed.pair, framed.frame.enter(RigidTransform.identity())


def test_without_trials_only_turns_between_the_poses_at_hand_count() -> None:
    pair, truth = two_samplings("vase", 700)
    poses = RigidTransform.stack([truth, RigidTransform(turn(Z, 180), np.zeros(3)) @ truth])
    scores = pair.score(poses)
    assert 0 in find_symmetry(pair, poses, scores).orders
    assert find_symmetry(two_samplings("vase", 700, Effort.FAST)[0], poses, scores).orders == (2,)


@pytest.mark.parametrize("seed", range(3))
def test_noise_that_hides_the_surface_does_not_hide_the_symmetry(seed: int) -> None:
    shape, motion = make_shape("table", generator=generator(3)), random_motion(seed)
    noise = 0.03 * torch.randn(2, 512, 3, generator=generator(seed), dtype=torch.float64)
    source, target = (shape.sample(512, generator=generator(10 * seed + k)) + noise[k] for k in range(2))
    result = register(source, motion.apply(target))
    scores = [float(each.score) for each in result.hypotheses]
    assert sum(bool(each.equivalent) for each in result.hypotheses) == 2
    assert scores == sorted(scores), "a rival that fits better once it is finished is the answer"


def test_the_sign_of_an_axis_is_that_of_the_cloud_not_of_rounding() -> None:
    points = make_shape("pyramid", generator=generator(2)).sample(300, generator=generator(3)).numpy()
    axes, turned = random_motion(0, 5).rotation[:, 0].numpy(), random_motion(1).rotation.numpy()
    oriented = symmetry._orient(axes, points)
    assert np.array_equal(symmetry._orient(-axes, points), oriented)
    assert worst(symmetry._orient(axes @ turned.T, points @ turned.T), oriented @ turned.T) < 1e-12
