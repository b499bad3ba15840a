import math

import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from deepume.datasets import Law, draw_motion, make_shape
from deepume.datasets.pairs.metrics import rotation_error_deg
from deepume.datasets.pairs.seeds import generator_for
from deepume.geometry.distance_field import DistanceField
from deepume.geometry.neighbors import nearest
from deepume.geometry.unit_sphere import to_unit_pair
from deepume.methods.claims import check_method
from deepume.methods.entry import Claim
from deepume.methods.simple.goicp import Boxes, GoIcp, _Incumbent, box_errors, rotation_reach
from deepume.methods.table import BASELINES
from deepume.transform import RigidTransform, rotation_from_vector
from strategies import generator, random_cloud, seeds, worst

QUICK = GoIcp(points=32, seconds=4.0, resolution=32)


def make_clouds(family: str, n: int, m: int) -> tuple[Tensor, Tensor, RigidTransform]:
    draws = generator_for(family)
    shape, motion = make_shape(family, generator=draws), draw_motion(Law.HAAR, generator=draws)
    return shape.sample(n, generator=draws), motion.apply(shape.sample(m, generator=draws)), motion


@given(seed=seeds(), one=st.booleans())
def test_no_motion_of_a_box_is_better_than_its_bound(seed: int, one: bool) -> None:
    """With one point in each cloud and a coarse grid the bound is nearly reached: any slip of it shows."""
    source, target = (0.5 * random_cloud(seed + k, 1 if one else 12) for k in (0, 1))
    field = DistanceField.of(target, 1.4, 8 if one else 24)
    draws = torch.rand(4, 16, 3, generator=generator(seed), dtype=torch.float64)
    boxes = Boxes(4 * draws[0] - 2, 0.3 * draws[1, :, 0], draws[2] - 0.5, 0.2 * draws[1, :, 1], draws[1, :, 2])
    _, bounds = box_errors(boxes, source, field)
    inside = _anywhere_in_a_cube(seed), _anywhere_in_a_cube(seed + 1)
    vectors = boxes.vectors[:, None] + boxes.sigma[:, None, None] * inside[0]
    shifts = boxes.shifts[:, None] + boxes.tau[:, None, None] * inside[1]
    moved = RigidTransform(rotation_from_vector(vectors), shifts).apply(source)
    errors = nearest(moved, target).distances.square().mean(-1)
    assert bool((errors.amin(-1) >= bounds - 1e-12).all())


def _anywhere_in_a_cube(seed: int) -> Tensor:
    """Points of the cube of half-side 1, and its corners."""
    unit = 2 * torch.rand(200, 3, generator=generator(seed), dtype=torch.float64) - 1
    return torch.cat([unit, torch.where(unit < 0, -1.0, 1.0)])


def test_rotations_of_a_cube_move_a_point_no_farther_than_said_and_as_far_at_its_corner() -> None:
    sigma = torch.tensor([0.1, 0.4, 1.0], dtype=torch.float64)
    centers = torch.randn(3, 1, 3, generator=generator(0), dtype=torch.float64)
    vectors = centers + sigma[:, None, None] * _anywhere_in_a_cube(0)
    points = torch.nn.functional.normalize(torch.randn(40, 3, generator=generator(1), dtype=torch.float64), dim=-1)
    moved = points @ rotation_from_vector(vectors).mT - points @ rotation_from_vector(centers).mT
    assert bool((moved.norm(dim=-1).amax((-2, -1)) <= rotation_reach(sigma) + 1e-12).all())
    corner, across = sigma[:, None] * torch.ones(3).double(), torch.tensor([1.0, -1.0, 0.0]).double() / 2**0.5
    reached = (rotation_from_vector(corner) @ across - across).norm(dim=-1)
    assert worst(reached, rotation_reach(sigma)) < 1e-12


def test_parts_of_a_box_cover_it() -> None:
    boxes = Boxes.everything(0.2, torch.zeros(1, dtype=torch.float64))
    for _ in range(3):
        boxes = boxes.divide()
    vectors = 2 * torch.randn(300, 3, generator=generator(0), dtype=torch.float64)
    vectors = vectors[vectors.norm(dim=-1) <= math.pi]
    shifts = 0.4 * torch.rand(len(vectors), 3, generator=generator(1), dtype=torch.float64) - 0.2
    holds_vector = ((vectors[:, None] - boxes.vectors).abs() <= boxes.sigma[:, None]).all(-1)
    holds_shift = ((shifts[:, None] - boxes.shifts).abs() <= boxes.tau[:, None]).all(-1)
    assert bool((holds_vector & holds_shift).any(-1).all())


@given(seed=seeds())
def test_a_looked_up_distance_is_off_by_no_more_than_the_slack(seed: int) -> None:
    cloud = random_cloud(seed, 15) / 4
    field = DistanceField.of(cloud, 1.0, 20)
    points = 2 * torch.rand(100, 3, generator=generator(seed), dtype=torch.float64) - 1
    assert float((field(points) - nearest(points, cloud).distances).abs().max()) <= field.slack


def test_it_finds_a_pose_from_any_rotation_and_closes_the_bound() -> None:
    source, target, motion = make_clouds("hammer", 150, 180)
    pair = to_unit_pair(source, target)
    assert QUICK.search(pair.source, pair.target).closed
    assert rotation_error_deg(QUICK(source, target).target_from_source, motion) < 6


def test_a_challenger_that_is_worse_leaves_the_best_motion_as_it_is() -> None:
    source, target, motion = make_clouds("hammer", 60, 60)
    start = RigidTransform.identity(source)
    beaten = _Incumbent(motion, math.inf).challenge(start, source, target)
    distances = nearest(beaten.pose.apply(source), target).distances
    assert beaten.error == float(distances.square().mean())
    best = _Incumbent(motion, 0.0)
    assert best.challenge(start, source, target) is best


def test_without_time_it_says_that_the_bound_is_open() -> None:
    source, target, _ = make_clouds("hammer", 60, 60)
    hurried = GoIcp(points=16, seconds=0.0, resolution=16, gap=0.0)
    pair = to_unit_pair(source, target)
    assert not hurried.search(pair.source, pair.target).closed
    assert bool(hurried(source, target).ambiguous)


def test_it_keeps_its_claims() -> None:
    source, target, _ = make_clouds("hammer", 60, 70)
    claims = next(entry.claims for entry in BASELINES if entry.name == "goicp")
    assert Claim.DETERMINISTIC not in claims, "what is found in a given time depends on the machine"
    assert Claim.EXACT not in claims, "any pose within the gap of the best may be returned"
    check_method(GoIcp(points=24, seconds=1.0, resolution=24), source, target, claims)
