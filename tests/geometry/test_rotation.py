import pytest
import torch
from hypothesis import given
from torch import Tensor

from deepume.geometry.rotation import (
    correlation,
    geodesic_angle,
    nearest_rotation,
    rotation_is_determined,
    solve_motion,
    solve_rotation,
)
from deepume.transform import random_rotation, rotation_from_vector
from strategies import batch_shapes, dtypes, generator, random_cloud, random_motion, seeds, worst
from tolerances import ROUNDING, SPECTRUM

Batch = tuple[int, ...]


def noisy_pair(seed: int, *shape: int, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
    source = random_cloud(seed, *shape, dtype=dtype)
    motion = random_motion(seed, *shape[:-1], dtype=dtype)
    return source, motion.apply(source) + 0.1 * random_cloud(seed + 1, *shape, dtype=dtype)


@given(seed=seeds(), batch=batch_shapes(), dtype=dtypes())
def test_exact_pairs_give_the_motion(seed: int, batch: Batch, dtype: torch.dtype) -> None:
    source = random_cloud(seed, *batch, 12, dtype=dtype)
    motion = random_motion(seed, *batch, dtype=dtype, scaled=True)
    target = motion.apply(source)
    weights = 0.1 + torch.rand(*batch, 12, generator=generator(seed), dtype=dtype)
    for share in (None, weights):
        assert worst(solve_motion(source, target, share, allow_scale=True).matrix, motion.matrix) < ROUNDING[dtype]
        turned = source @ motion.rotation.mT
        assert worst(solve_rotation(source, turned, share), motion.rotation) < ROUNDING[dtype]
        rigid = solve_motion(source, turned + motion.translation.unsqueeze(-2), share)
        assert worst(rigid.translation, motion.translation) < ROUNDING[dtype]
        assert bool((rigid.scale == 1).all())


@given(seed=seeds(), batch=batch_shapes(), dtype=dtypes())
def test_rotating_either_side_rotates_the_answer(seed: int, batch: Batch, dtype: torch.dtype) -> None:
    source, target = noisy_pair(seed, *batch, 12, dtype=dtype)
    turn = random_motion(seed + 7, *batch, dtype=dtype)
    answer = solve_rotation(source, target)
    assert worst(solve_rotation(source, target @ turn.rotation.mT), turn.rotation @ answer) < SPECTRUM[dtype]
    assert worst(solve_rotation(source @ turn.rotation.mT, target), answer @ turn.rotation.mT) < SPECTRUM[dtype]
    pose = solve_motion(source, target)
    assert worst(solve_motion(source, turn.apply(target)).matrix, (turn @ pose).matrix) < SPECTRUM[dtype]
    moved = solve_motion(turn.apply(source), target)
    assert worst((moved @ turn).matrix, pose.matrix) < SPECTRUM[dtype]


@given(seed=seeds(), batch=batch_shapes(), dtype=dtypes())
def test_swapping_inverts_and_pairs_have_no_order(seed: int, batch: Batch, dtype: torch.dtype) -> None:
    source, target = noisy_pair(seed, *batch, 12, dtype=dtype)
    pose = solve_motion(source, target)
    assert worst(solve_motion(target, source).inverse().matrix, pose.matrix) < SPECTRUM[dtype]
    order = torch.randperm(12, generator=generator(seed))
    assert worst(solve_motion(source[..., order, :], target[..., order, :]).matrix, pose.matrix) < SPECTRUM[dtype]


@given(seed=seeds(), dtype=dtypes())
def test_weights_stand_for_repeated_pairs(seed: int, dtype: torch.dtype) -> None:
    source, target = noisy_pair(seed, 12, dtype=dtype)
    counts = torch.randint(0, 4, (12,), generator=generator(seed))
    counts[:5] += 1
    repeated = solve_motion(source.repeat_interleave(counts, 0), target.repeat_interleave(counts, 0), allow_scale=True)
    weighted = solve_motion(source, target, counts.to(dtype), allow_scale=True)
    assert worst(repeated.matrix, weighted.matrix) < SPECTRUM[dtype]


@given(seed=seeds())
def test_no_other_motion_is_closer(seed: int) -> None:
    source, target = noisy_pair(seed, 12, dtype=torch.float64)
    best = solve_motion(source, target, allow_scale=True)
    least = (best.apply(source) - target).square().sum()
    steps = 1e-3 * torch.randn(50, 7, generator=generator(seed), dtype=torch.float64)
    for step in steps:
        block = (1 + step[6]) * best.scale * rotation_from_vector(step[:3]) @ best.rotation
        assert (source @ block.mT + best.translation + step[3:6] - target).square().sum() > least


@given(seed=seeds(), batch=batch_shapes(), dtype=dtypes())
def test_the_nearest_rotation_is_proper_even_to_reflections(seed: int, batch: Batch, dtype: torch.dtype) -> None:
    matrix = torch.randn(*batch, 3, 3, generator=generator(seed), dtype=dtype)
    for each in (matrix, -matrix, torch.zeros_like(matrix), -torch.eye(3, dtype=dtype).expand_as(matrix)):
        rotation = nearest_rotation(each)
        assert worst(rotation @ rotation.mT, torch.eye(3, dtype=dtype)) < ROUNDING[dtype]
        assert worst(torch.linalg.det(rotation), torch.ones(batch, dtype=dtype)) < ROUNDING[dtype]
    proper = random_rotation(*batch, generator=generator(seed)).to(dtype)
    assert worst(nearest_rotation(3 * proper), proper) < ROUNDING[dtype]


def matrix_of(values: tuple[float, ...], seed: int) -> Tensor:
    left, right = random_rotation(2, generator=generator(seed))
    return left @ torch.diag(torch.tensor(values, dtype=torch.float64)) @ right.mT


@pytest.mark.parametrize(
    "values", [(3, 2, 1), (3, 2, -1), (2, 2, 1), (2, 1, 1), (1, 1, 1), (2, 2, -1), (3, 2, 0), (2, 2, 0)]
)
@pytest.mark.parametrize("seed", range(3))
def test_gradients_match_finite_differences_also_when_singular_values_pair_up(values, seed: int) -> None:
    matrix = matrix_of(values, seed).requires_grad_()
    assert torch.autograd.gradcheck(nearest_rotation, (matrix,), eps=1e-6, atol=1e-6)


@pytest.mark.parametrize("values", [(0, 0, 0), (1, 0, 0), (2, 1, -1), (1, 1, -1)])
@given(dtype=dtypes())
def test_gradients_stay_finite_where_the_rotation_is_undetermined(values, dtype: torch.dtype) -> None:
    matrix = matrix_of(values, 0).to(dtype).requires_grad_()
    (nearest_rotation(matrix) * torch.arange(9.0, dtype=dtype).reshape(3, 3)).sum().backward()
    assert matrix.grad is not None
    assert bool(matrix.grad.isfinite().all())


def test_gradients_flow_through_motions() -> None:
    source, target = noisy_pair(0, 2, 6, dtype=torch.float64)
    weights = 0.1 + torch.rand(2, 6, generator=generator(0), dtype=torch.float64)

    def pose_numbers(*inputs: Tensor) -> Tensor:
        return solve_motion(*inputs, allow_scale=True).matrix

    assert torch.autograd.gradcheck(pose_numbers, tuple(each.requires_grad_() for each in (source, target, weights)))


def test_second_derivatives_are_refused_rather_than_wrong() -> None:
    matrix = matrix_of((3, 2, 1), 0).requires_grad_()
    (gradient,) = torch.autograd.grad(nearest_rotation(matrix).square()[0, 0], matrix, create_graph=True)
    with pytest.raises(RuntimeError, match="once_differentiable"):
        gradient.sum().backward()


@pytest.mark.parametrize(
    ("values", "determined"),
    [
        ((3, 2, 1), True),
        ((3, 2, 0), True),
        ((3, 2, -1), True),
        ((3, 0, 0), False),
        ((0, 0, 0), False),
        ((3, 2, -2), False),
    ],
)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("factor", [1e-6, 1.0, 1e6])
def test_the_rank_test_knows_when_one_rotation_is_nearest(values, determined: bool, dtype, factor: float) -> None:
    matrix = (factor * matrix_of(values, 1)).to(dtype)
    tolerance = 1e-5 if dtype == torch.float32 else 1e-6
    assert bool(rotation_is_determined(matrix, tolerance)) is determined


@given(seed=seeds(), batch=batch_shapes(), dtype=dtypes())
def test_the_angle_between_rotations_is_a_distance(seed: int, batch: Batch, dtype: torch.dtype) -> None:
    a, b, c = random_rotation(3, *batch, generator=generator(seed)).to(dtype)
    assert worst(geodesic_angle(a, b), geodesic_angle(b, a)) < 1e3 * ROUNDING[dtype]
    assert worst(geodesic_angle(c @ a, c @ b), geodesic_angle(a, b)) < 1e3 * ROUNDING[dtype]
    assert bool((geodesic_angle(a, c) <= geodesic_angle(a, b) + geodesic_angle(b, c) + 1e-5).all())
    assert geodesic_angle(a, a).abs().max() < ROUNDING[dtype]


@given(seed=seeds())
def test_correlation_is_linear_and_swaps_to_its_transpose(seed: int) -> None:
    source, target = noisy_pair(seed, 12, dtype=torch.float64)
    assert worst(correlation(target, source), correlation(source, target).mT) < 1e-12
    assert worst(correlation(2 * source, 3 * target), 6 * correlation(source, target)) < 1e-11


@pytest.mark.parametrize("angle", [1e-8, 1e-5, 1e-2])
@pytest.mark.parametrize("near_half_turn", [False, True])
def test_angles_between_rotations_are_accurate_at_both_ends(angle: float, near_half_turn: bool) -> None:
    rotation = random_rotation(generator=generator(5))
    axis = torch.tensor([0.6, 0.0, -0.8], dtype=torch.float64)
    turn = torch.pi - angle if near_half_turn else angle
    found = float(geodesic_angle(rotation, rotation @ rotation_from_vector(turn * axis)))
    assert (torch.pi - found if near_half_turn else found) == pytest.approx(angle, rel=1e-6)
