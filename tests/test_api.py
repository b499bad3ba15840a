import subprocess
import sys
import time
from functools import partial

import numpy as np
import pytest
import torch
from torch import Tensor

from deepume import DeepumeError, Registration, RigidTransform, api, list_methods, register
from deepume.datasets import make_shape
from deepume.errors import CloudShapeError, CloudValueError, DeviceError, UnknownNameError
from deepume.metrics import rotation_error_deg
from deepume.testing import pose_deviation
from deepume.transform import random_rotation, rotation_about_axis
from strategies import generator, random_cloud, random_motion, worst

FLAT = torch.tensor([1.0, 1.0, 0.0], dtype=torch.float64)


def clouds(n: int, m: int, family: str = "chair", seed: int = 0) -> tuple[Tensor, Tensor, RigidTransform]:
    """Two samplings of one shape, without common points, and the motion between them."""
    shape, motion = make_shape(family, generator=generator(3)), random_motion(seed)
    source = shape.sample(n, generator=generator(seed + 1))
    return source, motion.apply(shape.sample(m, generator=generator(seed + 2))), motion


def bits(result: Registration) -> str:
    """Everything but the clock."""
    assert result.diagnostics is not None
    seconds = dict.fromkeys(result.diagnostics.seconds, 0.0)
    text = result.to_json()
    for stage, value in result.diagnostics.seconds.items():
        text = text.replace(f'"{stage}": {value!r}', f'"{stage}": {seconds[stage]}')
    return text


def with_bad_rows(points: Tensor) -> Tensor:
    return torch.cat([points[:20], torch.tensor([[torch.nan, 0, 0], [0, torch.inf, 0]]).double(), points[20:]])


# What comes in


def test_every_kind_of_array_gives_the_same_answer() -> None:
    source, target, _ = clouds(150, 150)
    expected = bits(register(source, target, method="pca"))
    for kind in (torch.Tensor.numpy, torch.Tensor.tolist, torch.clone, partial(np.asfortranarray)):
        assert bits(register(kind(source), kind(target), method="pca")) == expected


def test_single_precision_is_computed_in_double() -> None:
    source, target, _ = clouds(300, 300)
    single, double = register(source.float(), target.float().numpy()), register(source, target)
    assert single.target_from_source.rotation.dtype == torch.float64
    assert pose_deviation(single.target_from_source, double.target_from_source, source, target) < 1e-4


def test_integers_are_coordinates() -> None:
    source = (1000 * random_cloud(0, 100)).round()
    turn = torch.tensor([[0, -1, 0], [1, 0, 0], [0, 0, 1]], dtype=torch.float64)
    target = source @ turn.mT + 7
    for dtype in (torch.int32, torch.int64, torch.int16):
        result = register(source.to(dtype), target.to(dtype))
        assert worst(result.target_from_source.rotation, turn) < 1e-9
    result = register(source.numpy().astype(int), target.numpy().astype(int))
    assert worst(result.target_from_source.translation, torch.full((3,), 7.0)) < 1e-6


@pytest.mark.parametrize("shape", [(3,), (3, 100), (100, 2), (100, 4), (2, 100, 3), (0,), (0, 3)])
@pytest.mark.parametrize("which", ["source", "target"])
def test_a_wrong_shape_is_named(shape: tuple[int, ...], which: str) -> None:
    good, bad = random_cloud(0, 50), torch.zeros(shape)
    source, target = (bad, good) if which == "source" else (good, bad)
    with pytest.raises((CloudShapeError, CloudValueError), match=which) as caught:
        register(source, target)
    assert str(shape) in str(caught.value) or "0 points" in str(caught.value)


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (random_cloud(0, 1), "has 1 points; at least 3"),
        (random_cloud(0, 2), "has 2 points; at least 3"),
        (with_bad_rows(random_cloud(0, 30)), "2 of 32 points with NaN or infinite"),
        (torch.ones(40, 3), "all points are equal"),
        (torch.linspace(0, 1, 40)[:, None].expand(40, 3), "on one line"),
        (random_cloud(0, 40) * 1e200, "too large to square"),
    ],
)
@pytest.mark.parametrize("which", ["source", "target"])
def test_a_cloud_without_a_pose_is_refused(bad: Tensor, message: str, which: str) -> None:
    good = random_cloud(1, 50)
    source, target = (bad, good) if which == "source" else (good, bad)
    with pytest.raises(CloudValueError, match=f"{which}.*{message}"):
        register(source, target)


def test_invalid_points_are_dropped_when_asked_for() -> None:
    source, target, _ = clouds(150, 150)
    clean = register(source, target, method="pca")
    dropped = register(with_bad_rows(source), with_bad_rows(target), method="pca", drop_invalid=True)
    assert bits(dropped) == bits(clean)
    with pytest.raises(CloudValueError, match="has 0 points"):
        register(source * torch.nan, target, drop_invalid=True)


@pytest.mark.parametrize("copies", [2, 5])
def test_repeated_points_count_once(copies: int) -> None:
    source, target, _ = clouds(250, 250)
    once, often = register(source, target), register(source.repeat(copies, 1), target.repeat_interleave(copies, 0))
    assert pose_deviation(once.target_from_source, often.target_from_source, source, target) < 1e-9
    assert worst(once.score, often.score) < 1e-9
    assert often.residuals is not None
    assert often.residuals.shape == (250 * copies,)


def test_planar_clouds_are_registered_with_a_warning() -> None:
    flat, motion = random_cloud(0, 150) * FLAT, random_motion(0)
    result = register(flat, motion.apply(flat))
    assert result.diagnostics is not None
    assert sum("planar" in warning for warning in result.diagnostics.warnings) == 2
    assert pose_deviation(result.target_from_source, motion, flat, motion.apply(flat)) < 1e-6


def test_three_points_are_enough_and_silent(capfd: pytest.CaptureFixture[str]) -> None:
    points, motion = random_cloud(0, 3), random_motion(0)
    result = register(points, motion.apply(points))
    assert pose_deviation(result.target_from_source, motion, points, motion.apply(points)) < 1e-6
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("offset", [1e6, 1e9])
def test_huge_offsets_keep_precision(offset: float) -> None:
    source, motion = random_cloud(0, 250), random_motion(0)
    shift = offset * torch.tensor([1.0, -0.7, 0.3], dtype=torch.float64)
    here, there = source + shift, motion.apply(source) - shift
    result = register(here, there)
    assert worst(result.target_from_source.rotation, motion.rotation) < 1e-6
    assert worst(result.target_from_source.apply(here), there) < 1e-6


@pytest.mark.parametrize("factor", [1e-9, 1e-3, 1e3, 1e9])
def test_the_unit_does_not_matter(factor: float) -> None:
    source, target, _ = clouds(250, 220)
    here, there = register(source, target), register(factor * source, factor * target)
    assert worst(here.target_from_source.rotation, there.target_from_source.rotation) < 1e-9
    assert worst(here.score, there.score) < 1e-9
    assert here.residuals is not None
    assert there.residuals is not None
    assert worst(here.residuals, there.residuals / factor) < 1e-9


# Units and scale


@pytest.mark.parametrize(
    ("factor", "guess"), [(1000, "meters to millimeters"), (0.001, "millimeters to meters"), (25.4, "inches to")]
)
def test_other_units_are_warned_of_with_the_ratio(factor: float, guess: str) -> None:
    source, target, _ = clouds(400, 400)
    result = register(source, factor * target, method="pca")
    assert result.diagnostics is not None
    (warning,) = result.diagnostics.warnings
    assert guess in warning
    assert result.diagnostics.unit_guess is not None
    assert result.diagnostics.extent_ratio == pytest.approx(factor, rel=0.1)
    assert f"{max(result.diagnostics.extent_ratio, 1 / result.diagnostics.extent_ratio):.4g}" in warning
    assert warning in result.explain()


@pytest.mark.parametrize("factor", [1000, 0.3])
@pytest.mark.parametrize("family", ["chair", "airplane", "body"])
def test_a_scale_is_recovered_within_one_percent(factor: float, family: str) -> None:
    source, target, motion = clouds(800, 700, family)
    result = register(source, factor * target, allow_scale=True)
    assert float(result.scale) == pytest.approx(factor, rel=0.01)
    assert rotation_error_deg(result.target_from_source, motion) < 2


def test_a_scale_of_shared_points_is_exact() -> None:
    source, motion = random_cloud(0, 250), random_motion(0, scaled=True)
    result = register(source, motion.apply(source), allow_scale=True)
    assert worst(result.target_from_source.matrix, motion.matrix) < 1e-6
    assert "scaled by" in result.explain()


def test_without_a_scale_it_is_exactly_one() -> None:
    source, target, _ = clouds(150, 150)
    for method in list_methods():
        assert float(register(source, target, method=method).scale) == 1


# Methods, initial poses, devices


def test_an_unknown_method_is_named_with_the_known() -> None:
    with pytest.raises(UnknownNameError, match=r"Did you mean 'frames-gicp'\?.*pca"):
        register(random_cloud(0, 9), random_cloud(0, 9), method="frames-gcip")


@pytest.mark.parametrize("method", list_methods())
def test_every_method_registers_unequal_sizes(method: str) -> None:
    source, target, motion = clouds(150, 200)
    result = register(source, target, method=method)
    assert result.diagnostics is not None
    assert result.diagnostics.method == method
    assert (result.diagnostics.source_size, result.diagnostics.target_size) == (150, 200)
    assert set(result.diagnostics.seconds) == {"read", "normalize", "method", "refine", "residuals"}
    if method.startswith(("frames", "grid", "pca")):
        assert rotation_error_deg(result.target_from_source, motion) < 5


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


# Sameness


@pytest.mark.parametrize("method", list_methods())
def test_the_same_call_gives_the_same_bits(method: str) -> None:
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


def test_a_symmetric_object_is_called_ambiguous_and_its_poses_are_listed() -> None:
    steps = torch.linspace(-1, 1, 4, dtype=torch.float64)
    cube, motion = torch.cartesian_prod(steps, steps, steps), random_motion(0)
    result = register(cube, motion.apply(cube))
    assert bool(result.ambiguous)
    assert "equally well" in result.explain()
    assert sum(bool(each.equivalent) for each in result.hypotheses) == len(result.hypotheses) >= 4
    chair, _, _ = clouds(250, 10)
    assert not bool(register(chair, motion.apply(chair)).ambiguous)


# Whatever comes: an error of ours or a proper rotation


def broken_cloud(seed: int) -> object:
    """A degenerate, damaged or merely odd cloud."""
    draws = generator(seed)

    def draw(count: int) -> int:
        return int(torch.randint(count, (), generator=draws))

    n = [0, 2, 3, 4, 5, 9, 10, 11, 30, 80, 150, 199, 200, 230][draw(14)]
    points = torch.randn(n, 3, generator=draws, dtype=torch.float64)
    shapes = [
        lambda: points,
        lambda: points * FLAT,
        lambda: points * FLAT.roll(1) * FLAT,
        lambda: points[:1].expand(n, 3),
        lambda: points[torch.randint(n, (n,), generator=draws) // 4] if n else points,
        lambda: points.round(),
        lambda: points / points.norm(dim=-1, keepdim=True),
        lambda: points * torch.tensor([1.0, 1.0, 1e-9]),
        lambda: points * torch.tensor([1.0, 1e-5, 1e-6]),
        lambda: points.sign(),
        lambda: points**9,
        lambda: points.float(),
        lambda: (9 * points).long(),
        lambda: points.numpy(),
        lambda: points.tolist(),
        lambda: torch.cat([points, points + 1e-12]),
        lambda: torch.cat([points, 1e6 * points[:1]]),
        lambda: [points[:, : draw(4)], points.mT, points.expand(2, n, 3)][draw(3)],
        lambda: [None, "no such file.ply", 5, {}, [[1, 2, 3], [4, 5]]][draw(5)],
    ]
    cloud = shapes[draw(len(shapes))]()
    if isinstance(cloud, Tensor) and cloud.is_floating_point() and cloud.numel():
        cloud = cloud * [1.0, 1e-6, 1e6, 1e-100, 1e100, 1e300, 1e-300][max(0, draw(14) - 7)]
        cloud = cloud + [0.0, 1e3, 1e9, 1e15][max(0, draw(12) - 8)]
        cloud = cloud.contiguous().clone()
        if draw(8) == 0:
            cloud.view(-1)[:: 1 + draw(30)] = [torch.nan, torch.inf, -torch.inf][draw(3)]
    return cloud


def check_broken_pair(seed: int) -> bool:
    """True if the pair was answered; any exception but ours fails the test."""
    draws = generator(seed)
    names, choice = list_methods(), torch.randint(1 << 30, (5,), generator=draws).tolist()
    method = names[choice[0] % len(names)] if choice[0] % 3 else "frames-gicp"
    source = broken_cloud(2 * seed)
    target = source if choice[4] % 4 == 0 else broken_cloud(2 * seed + 1)
    start = time.perf_counter()
    try:
        result = register(
            source,
            target,
            method=method,
            refine=bool(choice[1] % 2),
            allow_scale=choice[2] % 3 == 0,
            drop_invalid=choice[3] % 3 == 0,
        )
    except DeepumeError:
        return False
    finally:
        assert time.perf_counter() - start < 30
    for pose in (result.target_from_source, *(each.target_from_source for each in result.hypotheses)):
        assert bool(pose.matrix.isfinite().all())
        assert worst(pose.rotation @ pose.rotation.mT, torch.eye(3, dtype=torch.float64)) < 1e-9
        assert worst(torch.linalg.det(pose.rotation), torch.tensor(1.0).double()) < 1e-9
    assert bool(result.score.isfinite())
    assert result.explain()
    Registration.from_json(result.to_json())
    return True


def test_broken_pairs_give_an_error_of_ours_or_a_proper_rotation(capfd: pytest.CaptureFixture[str]) -> None:
    answered = sum(check_broken_pair(seed) for seed in range(200))
    assert 20 < answered < 180
    assert capfd.readouterr() == ("", "")


@pytest.mark.slow
def test_a_thousand_broken_pairs(capfd: pytest.CaptureFixture[str]) -> None:
    answered = sum(check_broken_pair(seed) for seed in range(200, 1200))
    assert 100 < answered < 900
    assert capfd.readouterr() == ("", "")


def test_mirror_images_are_never_matched_by_a_mirror() -> None:
    source = random_cloud(0, 250)
    mirrored = source * torch.tensor([-1.0, 1.0, 1.0], dtype=torch.float64) @ random_rotation(generator=generator(0)).mT
    result = register(source, mirrored)
    assert float(torch.linalg.det(result.target_from_source.rotation)) == pytest.approx(1)
    assert result.score > 0.3
