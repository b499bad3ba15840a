"""The default network without torch answers as with torch, on 200 pairs."""

import copy
import sys
from functools import cache

import numpy as np
import pytest
import torch

from deepume.datasets import Law, PairKey, ProceduralSet, Scenario, make_pair
from deepume.errors import MissingPackageError, UnknownNameError
from deepume.networks import estimate as module
from deepume.networks.deepume import DeepUME, DeepUMEConfig
from deepume.networks.loading import load_network
from deepume.networks.onnx_network import OnnxNetwork
from deepume.transform import RigidTransform
from framed_pairs import as_arrays

pytest.importorskip("onnxruntime", reason='needs onnxruntime: pip install "deepume[dev]"')

TOLERANCE = 1e-5
UNDETERMINED = 0.1
"""Gap of a correlation below which its rotation amplifies rounding: the tolerance grows by as much."""
SHAPES = ProceduralSet(points=1200)


@cache
def in_numpy() -> OnnxNetwork:
    return OnnxNetwork.published()


@cache
def in_torch() -> DeepUME:
    """In double precision, of which the exported network is the rounding."""
    return copy.deepcopy(load_network(DeepUME, DeepUMEConfig, "deepume", torch.device("cpu"))).double()


def clouds_of(index: int) -> tuple[torch.Tensor, torch.Tensor, RigidTransform]:
    """Two samplings of a procedural shape, 16 to 200 points each."""
    sizes = np.random.default_rng(index).integers(16, 201, 2)
    pair = make_pair(SHAPES, PairKey("procedural", Scenario.ZERO, Law.HAAR, 200, index))
    return pair.source[: sizes[0]], pair.target[: sizes[1]], pair.target_from_source


def deviation(one: RigidTransform, other: RigidTransform) -> np.ndarray:
    rotation = np.abs(one.rotation - other.rotation).max((-2, -1))
    return np.maximum(rotation, np.abs(one.translation - other.translation).max(-1))


def gap_of(matrix: np.ndarray) -> np.ndarray:
    """How well a correlation determines its nearest rotation: 0 not at all, 2 at best."""
    u, s, vh = np.linalg.svd(matrix)
    return (s[..., 1] + np.sign(np.linalg.det(u @ vh)) * s[..., 2]) / s[..., 0]


@torch.inference_mode()
def test_poses_and_scores_are_those_of_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    gaps: list[np.ndarray] = []
    solve = module.nearest_rotation

    def note(matrix: np.ndarray | torch.Tensor) -> None:
        if isinstance(matrix, np.ndarray):
            gaps.append(gap_of(matrix))

    monkeypatch.setattr(module, "nearest_rotation", lambda matrix: note(matrix) or solve(matrix))
    for index in range(200):
        source, target, _ = clouds_of(index)
        expected = in_torch().hypotheses(source, target, passes=1)
        found = in_numpy().hypotheses(source.numpy(), target.numpy(), passes=1)
        allowed = TOLERANCE * np.maximum(1, UNDETERMINED / gaps[-1])
        assert (deviation(as_arrays(expected.target_from_source), found.target_from_source) <= allowed).all(), index
        assert np.abs(expected.scores[0].numpy() - found.scores[0]).max() <= TOLERANCE, index
        start = expected.target_from_source[0]
        improved = in_torch()(source[None], target[None], start[None], passes=1)
        again = in_numpy()(source.numpy(), target.numpy(), as_arrays(start), passes=1)
        allowed = TOLERANCE * np.maximum(1, UNDETERMINED / gaps[-1])
        assert deviation(as_arrays(improved.target_from_source[0]), again.target_from_source) <= allowed, index
        assert abs(float(improved.scores[0]) - again.scores[0]) <= TOLERANCE, index
    assert np.quantile(np.concatenate([np.ravel(gap) for gap in gaps]), 0.25) > UNDETERMINED


@torch.inference_mode()
def test_several_passes_are_those_of_torch() -> None:
    source, target, _ = clouds_of(3)
    expected = in_torch().hypotheses(source, target)
    found = in_numpy().hypotheses(source.numpy(), target.numpy())
    assert len(found.passes) == len(found.scores) == in_torch().config.passes
    for one, other in zip(expected.passes, found.passes, strict=True):
        assert deviation(as_arrays(one), other).max() < 1e-4


def test_a_batch_equals_its_members() -> None:
    pairs = [make_pair(SHAPES, PairKey("procedural", Scenario.ZERO, Law.HAAR, 60, index)) for index in range(3)]
    source = torch.stack([pair.source for pair in pairs]).numpy()
    target = torch.stack([pair.target for pair in pairs]).numpy()
    whole = in_numpy().hypotheses(source, target)
    for index in range(3):
        part = in_numpy().hypotheses(source[index], target[index])
        member = whole.target_from_source[index]
        assert deviation(member, part.target_from_source).max() < 1e-4
        np.testing.assert_allclose(whole.scores[-1][index], part.scores[-1], atol=1e-4)


def test_the_same_input_gives_the_same_bits() -> None:
    source, target, _ = clouds_of(1)
    answers = [OnnxNetwork.published().hypotheses(source.numpy(), target.numpy()) for _ in range(2)]
    assert np.array_equal(*(answer.target_from_source.matrix for answer in answers))


def test_moving_and_scaling_the_clouds_moves_the_answer() -> None:
    source, target, truth = clouds_of(2)
    start = as_arrays(truth)
    before = in_numpy()(source.numpy(), target.numpy(), start, passes=1)
    moved = (3 * target + 5).numpy()
    after = in_numpy()(3 * source.numpy(), moved, RigidTransform(start.rotation, 3 * start.translation + 5), passes=1)
    pose = before.target_from_source
    assert deviation(RigidTransform(pose.rotation, 3 * pose.translation + 5), after.target_from_source) < TOLERANCE
    assert abs(before.scores[0] - after.scores[0]) < TOLERANCE


def test_clouds_of_very_few_points_have_an_answer() -> None:
    generator = np.random.default_rng(0)
    found = in_numpy().hypotheses(generator.normal(size=(3, 3)), generator.normal(size=(7, 3)))
    assert np.isfinite(found.target_from_source.rotation).all()
    assert np.allclose(np.linalg.det(found.target_from_source.rotation), 1)


def test_a_missing_package_or_name_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UnknownNameError, match="Known: deepume"):
        OnnxNetwork.published("deepume-smal")
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(MissingPackageError, match='pip install "onnxruntime'):
        OnnxNetwork.published()
