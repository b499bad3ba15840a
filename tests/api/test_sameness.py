"""The same call gives the same answer, and leaves everything else alone."""

import subprocess
import sys
import time

import pytest
import torch

from deepume import api, register
from deepume.api import MethodName
from deepume.datasets.pairs.metrics import rotation_error_deg
from deepume.geometry.spacing import point_spacing
from ready_methods import DETERMINISTIC, UNEQUAL
from sampled_pairs import bits, clouds
from strategies import random_motion, worst


@pytest.mark.parametrize("method", [name for name in DETERMINISTIC if name in UNEQUAL])
def test_the_same_call_gives_the_same_bits(method: MethodName) -> None:
    source, target, _ = clouds(120, 130)
    assert bits(register(source, target, method=method)) == bits(
        register(source.clone(), target.clone(), method=method)
    )


def test_another_process_gives_the_same_bits() -> None:
    script = (
        "import torch; torch.set_num_threads(1); import deepume\n"
        "g = torch.Generator().manual_seed(0)\n"
        "clouds = [torch.randn(220, 3, generator=g, dtype=torch.float64) ** 2 for _ in range(2)]\n"
        "print(deepume.register(*clouds).target_from_source.matrix.numpy().tobytes().hex())\n"
    )
    runs = [
        subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True) for _ in range(2)
    ]
    assert runs[0].stdout == runs[1].stdout
    assert runs[0].stderr == ""


def test_the_seed_decides_what_is_drawn_and_nothing_global_is_touched(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(api, "MOST_POINTS", 150)
    source, target, _ = clouds(400, 400)
    state = torch.get_rng_state()
    first, again, other = (register(source, target, method="pca", seed=seed) for seed in (1, 1, 2))
    assert torch.equal(state, torch.get_rng_state())
    assert bits(first) == bits(again)
    assert bits(first) != bits(other)


def test_inputs_are_left_as_they_are() -> None:
    source, target, _ = clouds(120, 130)
    copies = source.clone(), target.clone()
    register(source, target, allow_scale=True, initial=random_motion(0))
    assert torch.equal(source, copies[0])
    assert torch.equal(target, copies[1])


def test_large_clouds_are_thinned_and_answered_in_seconds() -> None:
    source, target, motion = clouds(100_000, 100_000)
    start = time.perf_counter()
    result = register(source, target)
    assert time.perf_counter() - start < 20
    assert rotation_error_deg(result.target_from_source, motion) < 0.2
    assert result.residuals is not None
    assert result.residuals.shape == (100_000,)
    assert result.diagnostics is not None
    assert result.diagnostics.source_size == 100_000


def test_residuals_are_the_distances_of_the_moved_points() -> None:
    source, target, _ = clouds(120, 130)
    result = register(source, target)
    moved = result.target_from_source.apply(source)
    assert result.residuals is not None
    assert worst(result.residuals, torch.cdist(moved, target).amin(-1)) < 1e-6


def test_spacings_are_those_of_the_clouds_in_the_unit_of_the_target() -> None:
    source, target, _ = clouds(220, 300)
    for factor in (1, 1000):
        result = register(factor * source, factor * target)
        assert result.spacings is not None
        expected = factor * torch.stack([point_spacing(source), point_spacing(target)])
        assert worst(result.spacings / expected, torch.ones(2)) < 1e-9
    assert register(source, target, method="pca").spacings is None


def test_an_answer_may_take_part_in_a_gradient() -> None:
    source, target, _ = clouds(220, 220)
    result, factor = register(source, target), torch.ones((), dtype=torch.float64, requires_grad=True)
    poses = [result.target_from_source, *(each.target_from_source for each in result.hypotheses)]
    optional = (result.score, result.confidence, result.residuals, result.covariance, result.spacings)
    assert result.symmetry is not None
    parts = [part for part in (*optional, result.symmetry.axes) if part is not None]
    assert len(parts) == 6
    parts += [pose.apply(factor * source) for pose in poses]
    torch.stack([(factor * part).sum() for part in parts]).sum().backward()
    assert factor.grad is not None


def test_the_poses_of_a_symmetric_object_are_listed_and_its_symmetry_named() -> None:
    steps = torch.linspace(-1, 1, 4, dtype=torch.float64)
    cube, motion = torch.cartesian_prod(steps, steps, steps), random_motion(0)
    result = register(cube, motion.apply(cube))
    assert not bool(result.ambiguous)
    assert result.symmetry is not None
    assert result.symmetry.orders[0] == 4
    assert "equally right" in result.explain()
    assert sum(bool(each.equivalent) for each in result.hypotheses) >= 4
    chair, _, _ = clouds(250, 10)
    alone = register(chair, motion.apply(chair))
    assert not bool(alone.ambiguous)
    assert alone.symmetry is not None
    assert alone.symmetry.orders == ()


def test_without_an_estimate_of_symmetry_equal_poses_are_ambiguous() -> None:
    steps = torch.linspace(-1, 1, 4, dtype=torch.float64)
    cube, motion = torch.cartesian_prod(steps, steps, steps), random_motion(0)
    result = register(cube, motion.apply(cube), method="frames-gicp")
    assert bool(result.ambiguous)
    assert result.symmetry is None
    assert "equally well" in result.explain()
