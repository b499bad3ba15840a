"""Methods, initial poses and devices."""

import numpy as np
import pytest
import torch

from deepume import DeepumeError, RigidTransform, register
from deepume.api import EffortName, MethodName
from deepume.datasets.pairs.metrics import rotation_error_deg
from deepume.errors import DeviceError, UnknownNameError
from deepume.transform import rotation_about_axis
from ready_methods import UNEQUAL
from sampled_pairs import bits, clouds
from strategies import random_cloud, random_motion, worst


def test_an_unknown_method_is_named_with_the_known() -> None:
    with pytest.raises(UnknownNameError, match=r"Did you mean 'frames-gicp'\?.*pca"):
        register(random_cloud(0, 9), random_cloud(0, 9), method="frames-gcip")  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize("method", UNEQUAL)
def test_every_method_registers_unequal_sizes(method: MethodName) -> None:
    source, target, motion = clouds(150, 200)
    result = register(source, target, method=method)
    assert result.diagnostics is not None
    assert result.diagnostics.method == method
    assert (result.diagnostics.source_size, result.diagnostics.target_size) == (150, 200)
    assert {"read", "method", "residuals"} <= set(result.diagnostics.seconds)
    if method.startswith(("frames", "grid", "pca")):
        assert rotation_error_deg(result.target_from_source, motion) < 5


@pytest.mark.parametrize("effort", ["fast", "auto", "thorough"])
def test_every_effort_gives_an_answer(effort: EffortName) -> None:
    source, target, motion = clouds(300, 300)
    result = register(source, target, effort=effort)
    assert rotation_error_deg(result.target_from_source, motion) < 5
    assert result.confidence is not None
    assert 0 <= float(result.confidence) <= 1


def test_effort_and_time_are_for_the_method_that_can_use_them() -> None:
    source, target, _ = clouds(60, 60)
    with pytest.raises(UnknownNameError, match="fast"):
        register(source, target, effort="quick")  # pyright: ignore[reportArgumentType]
    with pytest.raises(DeepumeError, match="'pca' has none"):
        register(source, target, method="pca", effort="fast")
    with pytest.raises(DeepumeError, match="'pca' has none"):
        register(source, target, method="pca", time_limit=1)
    for limit in (0, -1, float("nan")):
        with pytest.raises(DeepumeError, match="above 0"):
            register(source, target, time_limit=limit)
    assert register(source, target, time_limit=1).score.isfinite()


def test_three_hundred_points_against_fifteen_hundred() -> None:
    source, target, motion = clouds(300, 1500)
    assert rotation_error_deg(register(source, target).target_from_source, motion) < 1.5
    assert rotation_error_deg(register(target, source).target_from_source, motion.inverse()) < 1.5


def test_refinement_improves_a_rough_method() -> None:
    source, target, motion = clouds(400, 400)
    rough, fine = (register(source, target, method="pca", refine=refine) for refine in (False, True))
    assert fine.score < rough.score
    assert rotation_error_deg(fine.target_from_source, motion) < rotation_error_deg(rough.target_from_source, motion)


@pytest.mark.parametrize("as_kind", [lambda pose: pose, lambda pose: pose.numpy(), lambda pose: pose.matrix.tolist()])
@pytest.mark.parametrize("refine", [False, True])
def test_an_initial_pose_joins_and_wins(as_kind, refine: bool) -> None:
    source, target, motion = clouds(250, 250)
    # Turned so far that local refinement of no motion at all cannot find the way.
    turn = RigidTransform(rotation_about_axis(0, torch.tensor(2.5, dtype=torch.float64)), torch.zeros(3).double())
    source, motion = turn.apply(source), motion @ turn.inverse()
    alone = register(source, target, method="identity", refine=refine)
    helped = register(source, target, method="identity", refine=refine, initial=as_kind(motion))
    assert rotation_error_deg(alone.target_from_source, motion) > 10
    assert rotation_error_deg(helped.target_from_source, motion) < 3
    assert helped.score < alone.score


def test_a_bad_initial_pose_does_no_harm() -> None:
    source, target, _ = clouds(250, 250)
    alone, misled = register(source, target), register(source, target, initial=random_motion(55))
    assert misled.score <= alone.score
    assert rotation_error_deg(misled.target_from_source, alone.target_from_source) < 1


def test_an_initial_pose_may_scale_where_a_scale_is_sought() -> None:
    source, motion = random_cloud(0, 250), random_motion(0, scaled=True)
    result = register(source, motion.apply(source), method="identity", initial=motion, allow_scale=True)
    assert worst(result.target_from_source.matrix, motion.matrix) < 1e-6


SHEAR = np.eye(4) + np.diag([0.5, 0, 0], 1)
MALFORMED = {
    "text": ("sideways", "4 x 4 matrix, got str"),
    "too small": (np.eye(3), r"got shape \(3, 3\)"),
    "a batch": (np.stack([np.eye(4)] * 2), r"got shape \(2, 4, 4\)"),
    "a batch of motions": (random_motion(0, 2), r"got shape \(2, 4, 4\)"),
    "not finite": (np.full((4, 4), np.nan), "finite"),
    "a motion that is not finite": (RigidTransform(torch.eye(3) * torch.nan, torch.zeros(3)), "finite"),
    "a mirror": (np.diag([-1.0, 1, 1, 1]), "determinant is not positive"),
    "a mirror as a motion": (RigidTransform(-torch.eye(3), torch.zeros(3)), "determinant is not positive"),
    "a shear": (SHEAR, "shears or stretches"),
    "transposed": (random_motion(0).matrix.mT, "Pass initial.T"),
    "scaled": (np.diag([1000.0, 1000, 1000, 1]), "scales by 1000. Pass allow_scale=True"),
}


@pytest.mark.parametrize("name", MALFORMED)
def test_a_malformed_initial_pose_is_refused(name: str) -> None:
    initial, message = MALFORMED[name]
    with pytest.raises(DeepumeError, match=message):
        register(random_cloud(0, 60), random_cloud(1, 60), initial=initial)


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU here")
@pytest.mark.parametrize("device", ["cuda", "cuda:1", "mps", "meta", "banana", torch.device("cuda")])
def test_a_device_that_is_not_there_is_refused(device: str | torch.device) -> None:
    with pytest.raises(DeviceError, match=f"{device}.*Leave device out"):
        register(random_cloud(0, 60), random_cloud(1, 60), device=device)


@pytest.mark.parametrize("device", ["cpu", torch.device("cpu")])
def test_the_cpu_is_there(device: str | torch.device) -> None:
    source, target, _ = clouds(120, 120)
    assert bits(register(source, target, device=device)) == bits(register(source, target))
