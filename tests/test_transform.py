import pytest
import torch
from hypothesis import given

from deepume import DeepumeError, RigidTransform
from deepume.transform import (
    random_rotation,
    rotation_about_axis,
    rotation_angle,
    rotation_from_quaternion,
    rotation_from_vector,
)
from strategies import batch_shapes, dtypes, generator, random_cloud, random_motion, seeds, worst
from tolerances import ROUNDING

Batch = tuple[int, ...]


def deviation(first: RigidTransform, second: RigidTransform) -> float:
    return worst(first.matrix, second.matrix)


@given(seed=seeds(), batch=batch_shapes(), dtype=dtypes())
def test_motions_form_a_group(seed: int, batch: Batch, dtype: torch.dtype) -> None:
    a, b, c = (random_motion(seed + k, *batch, dtype=dtype, scaled=True) for k in range(3))
    one = RigidTransform.identity(torch.zeros(3, dtype=dtype))
    assert deviation((a @ b) @ c, a @ (b @ c)) < ROUNDING[dtype]
    assert deviation(a @ one, a) < ROUNDING[dtype]
    assert deviation(one @ a, a) < ROUNDING[dtype]
    eye = torch.eye(4, dtype=dtype)
    assert worst((a @ a.inverse()).matrix, eye) < ROUNDING[dtype]
    assert worst((a.inverse() @ a).matrix, eye) < ROUNDING[dtype]
    assert deviation((a @ b).inverse(), b.inverse() @ a.inverse()) < 10 * ROUNDING[dtype]


@given(seed=seeds(), batch=batch_shapes(), dtype=dtypes())
def test_composition_is_application_in_turn(seed: int, batch: Batch, dtype: torch.dtype) -> None:
    a, b = (random_motion(seed + k, *batch, dtype=dtype, scaled=True) for k in range(2))
    points = random_cloud(seed, *batch, 7, dtype=dtype)
    assert worst((a @ b).apply(points), a.apply(b.apply(points))) < ROUNDING[dtype]
    assert worst(a.inverse().apply(a.apply(points)), points) < ROUNDING[dtype]


@given(seed=seeds(), batch=batch_shapes(), dtype=dtypes())
def test_matrix_acts_on_columns_and_reads_back(seed: int, batch: Batch, dtype: torch.dtype) -> None:
    motion = random_motion(seed, *batch, dtype=dtype, scaled=True)
    points = random_cloud(seed, *batch, 7, dtype=dtype)
    columns = torch.cat([points, torch.ones_like(points[..., :1])], -1).mT
    assert worst((motion.matrix @ columns).mT[..., :3], motion.apply(points)) < ROUNDING[dtype]
    again = RigidTransform.from_matrix(motion.matrix)
    assert worst(again.rotation, motion.rotation) < ROUNDING[dtype]
    assert worst(again.scale, motion.scale) < ROUNDING[dtype]
    assert worst(again.matrix, motion.matrix) < ROUNDING[dtype]
    assert motion.numpy().dtype == "float64"
    assert motion.matrix.dtype == dtype


def test_a_matrix_that_mirrors_is_no_motion() -> None:
    with pytest.raises(DeepumeError, match="mirrors"):
        RigidTransform.from_matrix(torch.diag(torch.tensor([-1.0, 1.0, 1.0, 1.0])))


@given(seed=seeds(), dtype=dtypes())
def test_stack_and_concatenate_put_motions_in_order(seed: int, dtype: torch.dtype) -> None:
    motions = [random_motion(seed + k, 2, dtype=dtype, scaled=k > 0) for k in range(3)]
    stacked = RigidTransform.stack(motions)
    assert stacked.rotation.shape == (2, 3, 3, 3)
    for k, motion in enumerate(motions):
        assert torch.equal(stacked[..., k].matrix, motion.matrix)
    joined = RigidTransform.concatenate(motions)
    assert joined.rotation.shape == (6, 3, 3)
    assert torch.equal(joined[2:4].matrix, motions[1].matrix)
    assert torch.equal(joined[-1].matrix, motions[2][1].matrix)


def test_a_single_motion_stacks_and_indexes() -> None:
    motion = random_motion(0)
    assert torch.equal(RigidTransform.stack([motion, motion])[1].matrix, motion.matrix)


@given(seed=seeds(), batch=batch_shapes(), dtype=dtypes())
def test_every_parametrization_is_proper(seed: int, batch: Batch, dtype: torch.dtype) -> None:
    vector = torch.randn(*batch, 3, generator=generator(seed), dtype=dtype)
    quaternion = torch.randn(*batch, 4, generator=generator(seed), dtype=dtype)
    eye = torch.eye(3, dtype=dtype)
    rotations = rotation_from_vector(vector), rotation_from_quaternion(quaternion)
    for rotation in (*rotations, random_rotation(*batch, generator=generator(seed), dtype=dtype)):
        assert rotation.shape == (*batch, 3, 3)
        assert worst(rotation @ rotation.mT, eye) < ROUNDING[dtype]
        assert worst(torch.linalg.det(rotation), torch.ones(batch, dtype=dtype)) < ROUNDING[dtype]


@given(seed=seeds(), dtype=dtypes())
def test_a_rotation_vector_turns_by_its_length_about_itself(seed: int, dtype: torch.dtype) -> None:
    vector = torch.randn(5, 3, generator=generator(seed), dtype=dtype)
    vector = vector / vector.norm(dim=-1, keepdim=True) * 3
    rotation = rotation_from_vector(vector)
    assert worst((rotation @ vector.unsqueeze(-1)).squeeze(-1), vector) < 10 * ROUNDING[dtype]
    assert worst(rotation_angle(rotation), vector.norm(dim=-1)) < 10 * ROUNDING[dtype]


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_axis_rotations_are_right_handed(axis: int) -> None:
    quarter = rotation_about_axis(axis, torch.tensor(torch.pi / 2, dtype=torch.float64))
    unit = torch.eye(3, dtype=torch.float64)
    assert worst(quarter @ unit[(axis + 1) % 3], unit[(axis + 2) % 3]) < 1e-15


def test_a_quaternion_and_its_negative_are_one_rotation() -> None:
    quaternion = torch.randn(9, 4, generator=generator(0), dtype=torch.float64)
    assert worst(rotation_from_quaternion(quaternion), rotation_from_quaternion(-3 * quaternion)) < 1e-14


@pytest.mark.parametrize("angle", [1e-9, 1e-7, 1e-4, 1e-2])
@pytest.mark.parametrize("from_half_turn", [False, True])
def test_angles_are_accurate_at_both_ends(angle: float, from_half_turn: bool) -> None:
    axis = torch.tensor([1.0, -2.0, 0.5], dtype=torch.float64)
    turn = torch.pi - angle if from_half_turn else angle
    found = float(rotation_angle(rotation_from_vector(turn * axis / axis.norm())))
    small = torch.pi - found if from_half_turn else found
    assert small == pytest.approx(angle, rel=1e-6)


def test_to_changes_dtype_and_keeps_the_motion() -> None:
    motion = random_motion(3, scaled=True)
    single = motion.to(torch.zeros(1))
    assert single.rotation.dtype == single.translation.dtype == single.scale.dtype == torch.float32
    assert worst(single.matrix.double(), motion.matrix) < 1e-6
