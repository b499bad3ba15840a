import numpy as np
import pytest
import torch
from hypothesis import given
from scipy.spatial.transform import Rotation

from deepume import RigidTransform
from deepume.datasets import Law, draw_rotation
from deepume.datasets.pairs.metrics import (
    calibration_error,
    calibration_gaps,
    chamfer_ratio,
    euler_angles,
    is_right,
    point_rmse,
    rmse_r_dcp,
    rmse_r_paper,
    rotation_error_deg,
    translation_rmse,
)
from deepume.transform import random_rotation, rotation_about_axis, rotation_from_vector
from strategies import batch_shapes, dtypes, generator, random_cloud, random_motion, seeds, worst
from tolerances import ROUNDING

Batch = tuple[int, ...]


def rigid(rotation: torch.Tensor) -> RigidTransform:
    return RigidTransform(rotation, torch.zeros_like(rotation[..., 0]))


@pytest.mark.parametrize(
    ("law", "published"), [(Law.EULER_FULL, 82.4), (Law.HAAR, 83.1), (Law.PAPER_CODE, 70.9), (Law.EULER_60, 35.9)]
)
def test_doing_nothing_scores_what_it_must_in_the_papers_metric(law: Law, published: float) -> None:
    truth = rigid(draw_rotation(law, 40_000, generator=generator(0)))
    identity = rigid(torch.eye(3, dtype=torch.float64).expand(40_000, 3, 3))
    assert float(rmse_r_paper(identity, truth).mean()) == pytest.approx(published, abs=0.5)


def test_a_true_degree_reads_about_one_point_seven() -> None:
    """Half of it is the angles that cross 180 degrees and read as 359: the metric does not wrap."""
    truth = random_rotation(200_000, generator=generator(0))
    axis = torch.randn(200_000, 3, generator=generator(1), dtype=torch.float64)
    step = rotation_from_vector(torch.pi / 180 * axis / axis.norm(dim=-1, keepdim=True))
    error = rmse_r_paper(rigid(step @ truth), rigid(truth))
    assert float(error.mean()) == pytest.approx(1.69, abs=0.1)
    assert float(error.median()) < 1


@given(seed=seeds(), batch=batch_shapes(), dtype=dtypes())
def test_euler_angles_are_those_of_scipy(seed: int, batch: Batch, dtype: torch.dtype) -> None:
    rotation = random_rotation(*batch, generator=generator(seed)).to(dtype)
    flat = rotation.double().reshape(-1, 3, 3).numpy()
    theirs = torch.from_numpy(Rotation.from_matrix(flat).as_euler("ZYX").copy()).reshape(*batch, 3)
    assert worst(euler_angles(rotation).double(), theirs) < 1e3 * ROUNDING[dtype]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("sign", [-1, 1])
@pytest.mark.parametrize("angle", [-2.0, 0.0, 0.7])
@pytest.mark.parametrize("jitter", [0.0, 1e-9, 1e-7])
def test_gimbal_lock_leaves_one_angle_at_zero_and_the_rotation_whole(
    dtype, sign: int, angle: float, jitter: float
) -> None:
    turn = [torch.tensor(each, dtype=torch.float64) for each in (angle, sign * (torch.pi / 2 - jitter), 0.3)]
    z, y, x = (rotation_about_axis(axis, each) for axis, each in zip((2, 1, 0), turn, strict=True))
    rotation = (z @ y @ x).to(dtype)
    found = euler_angles(rotation)
    again = torch.from_numpy(Rotation.from_euler("ZYX", found.double().numpy()).as_matrix())
    assert worst(again, rotation.double()) < (1e-3 if dtype == torch.float32 else 1e-7)
    if jitter == 0:
        assert float(found[2]) == 0


@given(seed=seeds(), batch=batch_shapes(), dtype=dtypes())
def test_errors_vanish_at_the_truth_and_measure_what_they_say(seed: int, batch: Batch, dtype: torch.dtype) -> None:
    truth, estimate = (random_motion(seed + k, *batch, dtype=dtype) for k in range(2))
    points = random_cloud(seed, *batch, 20, dtype=dtype)
    assert rotation_error_deg(truth, truth).abs().max() < 100 * ROUNDING[dtype]
    assert translation_rmse(truth, truth).abs().max() == 0
    assert point_rmse(truth, truth, points).abs().max() == 0
    shifted = RigidTransform(truth.rotation, truth.translation + 2)
    assert worst(translation_rmse(shifted, truth), torch.full(batch, 2.0, dtype=dtype)) < ROUNDING[dtype]
    assert worst(point_rmse(shifted, truth, points), torch.full(batch, 12.0**0.5, dtype=dtype)) < ROUNDING[dtype]
    assert rotation_error_deg(estimate, truth).shape == batch
    assert rmse_r_dcp(estimate, truth).shape == ()


def test_dcp_pools_before_the_root_and_the_paper_after() -> None:
    truth = rigid(torch.eye(3, dtype=torch.float64).expand(2, 3, 3))
    angles = torch.deg2rad(torch.tensor([30.0, 0.0], dtype=torch.float64))
    estimate = rigid(rotation_about_axis(2, angles))
    assert rmse_r_paper(estimate, truth).tolist() == pytest.approx([30 / 3**0.5, 0])
    assert float(rmse_r_dcp(estimate, truth)) == pytest.approx(30 / 6**0.5)


def test_angles_are_not_wrapped() -> None:
    angles = np.deg2rad([179.0, -179.0])
    first, second = (rigid(rotation_about_axis(2, torch.tensor(each))) for each in angles)
    assert float(rmse_r_paper(first, second)) == pytest.approx(358 / 3**0.5)
    assert float(rotation_error_deg(first, second)) == pytest.approx(2)


def test_an_equivalent_pose_is_right_and_a_wrong_one_is_not() -> None:
    square = torch.cartesian_prod(torch.linspace(-1, 1, 8), torch.linspace(-1, 1, 8), torch.zeros(1)).double()
    truth = random_motion(0)
    turns = rotation_about_axis(2, torch.deg2rad(torch.tensor([0.0, 9.0, 90.0, 45.0], dtype=torch.float64)))
    verdicts = []
    for turn in turns:
        estimate = truth @ rigid(turn)
        verdicts.append(bool(is_right(estimate, truth, square, truth.apply(square))))
    assert verdicts == [True, True, True, False]
    assert float(chamfer_ratio(truth, truth, square, truth.apply(square))) == 1


def test_a_calibration_error_is_the_gap_between_word_and_deed() -> None:
    right = torch.tensor([1.0, 1, 1, 0])
    assert calibration_error(torch.full((4,), 0.75), right) == 0
    assert calibration_error(torch.full((4,), 0.95), right) == pytest.approx(0.2)
    assert calibration_error(right, right) == 0
    assert calibration_error(1 - right, right) == 1


def test_calibration_gaps_of_two_sets_add_up_to_those_of_both() -> None:
    stated, right = torch.rand(60, generator=generator(0)), torch.arange(60.0) % 2
    both = calibration_gaps(stated[:20], right[:20]) + calibration_gaps(stated[20:], right[20:])
    assert worst(both, calibration_gaps(stated, right)) < 1e-5
    assert calibration_error(stated, right) == pytest.approx(float(both.abs().sum()) / 60)
