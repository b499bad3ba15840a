import pytest
import torch
from hypothesis import given
from torch import Tensor

from deepume.geometry.frames import local_normals, principal_frame
from deepume.geometry.spacing import area_weights
from strategies import batch_shapes, dtypes, generator, random_cloud, random_motion, seeds, worst
from tolerances import ROUNDING, SPECTRUM

Batch = tuple[int, ...]


def either_handed_cloud(seed: int, *shape: int, dtype: torch.dtype) -> Tensor:
    """Skewed clouds, every other one of which is mirrored: the signs of skewness alone would mirror its frame."""
    return random_cloud(seed, *shape, dtype=dtype) * torch.tensor([1 - 2 * (seed % 2), 1, 1], dtype=dtype)


@given(seed=seeds(), batch=batch_shapes(), dtype=dtypes())
def test_the_frame_turns_with_the_cloud(seed: int, batch: Batch, dtype: torch.dtype) -> None:
    points, motion = either_handed_cloud(seed, *batch, 400, dtype=dtype), random_motion(seed, *batch, dtype=dtype)
    frame, moved = principal_frame(points), principal_frame(motion.apply(points))
    assert worst(moved.axes, motion.rotation @ frame.axes) < SPECTRUM[dtype]
    assert worst(moved.variances, frame.variances) < ROUNDING[dtype]
    assert worst(moved.to_local(motion.apply(points)), frame.to_local(points)) < 3 * SPECTRUM[dtype]


@given(seed=seeds(), batch=batch_shapes(), dtype=dtypes())
def test_the_frame_is_right_handed_and_diagonalizes(seed: int, batch: Batch, dtype: torch.dtype) -> None:
    points = either_handed_cloud(seed, *batch, 60, dtype=dtype)
    frame = principal_frame(points)
    assert worst(torch.linalg.det(frame.axes), torch.ones(batch, dtype=dtype)) < ROUNDING[dtype]
    local = frame.to_local(points)
    covariance = local.mT @ local / 60
    assert worst(covariance, torch.diag_embed(frame.variances)) < ROUNDING[dtype]
    assert bool((frame.variances[..., :-1] >= frame.variances[..., 1:]).all())
    assert worst(local @ frame.axes.mT + frame.centroid.unsqueeze(-2), points) < ROUNDING[dtype]


@given(seed=seeds(), dtype=dtypes())
def test_the_order_of_the_points_does_not_matter(seed: int, dtype: torch.dtype) -> None:
    points = random_cloud(seed, 400, dtype=dtype)
    order = torch.randperm(400, generator=generator(seed))
    assert worst(principal_frame(points[order]).axes, principal_frame(points).axes) < SPECTRUM[dtype]


@given(seed=seeds())
def test_equal_weights_are_no_weights_and_doubled_points_are_weights(seed: int) -> None:
    points = random_cloud(seed, 60)
    plain = principal_frame(points)
    even = principal_frame(points, torch.full((60,), 1 / 60, dtype=torch.float64))
    assert worst(plain.axes, even.axes) < 1e-9
    counts = torch.randint(1, 4, (60,), generator=generator(seed))
    repeated = principal_frame(points.repeat_interleave(counts, 0))
    weighted = principal_frame(points, counts / counts.sum(dtype=torch.float64))
    assert worst(repeated.variances, weighted.variances) < 1e-12
    assert worst(repeated.centroid, weighted.centroid) < 1e-12


def test_area_weights_turn_the_frame_towards_the_surface() -> None:
    points = random_cloud(0, 60)
    assert worst(principal_frame(points).axes, principal_frame(points, area_weights(points)).axes) > 1e-3


@pytest.mark.parametrize(
    ("lengths", "gaps"),
    [((3, 2, 1), (5 / 9, 3 / 4)), ((2, 2, 1), (0, 3 / 4)), ((2, 1, 1), (3 / 4, 0)), ((2, 1, 0), (3 / 4, 1))],
)
def test_gaps_tell_interchangeable_axes(lengths, gaps) -> None:
    corners = torch.cartesian_prod(*[torch.tensor([-1.0, 1.0], dtype=torch.float64)] * 3)
    found = principal_frame(corners * torch.tensor(lengths, dtype=torch.float64)).eigenvalue_gaps()
    assert worst(found, torch.tensor(gaps, dtype=torch.float64)) < 1e-12


@given(seed=seeds(), batch=batch_shapes(), dtype=dtypes())
def test_normals_of_a_sphere_point_outward_or_inward(seed: int, batch: Batch, dtype: torch.dtype) -> None:
    points = torch.randn(*batch, 400, 3, generator=generator(seed), dtype=dtype)
    points = points / points.norm(dim=-1, keepdim=True)
    cosines = (local_normals(points) * points).sum(-1).abs()
    assert cosines.median() > 0.99
    assert worst(local_normals(points).norm(dim=-1), torch.ones(*batch, 400, dtype=dtype)) < ROUNDING[dtype]


def test_normals_of_fewer_points_than_neighbors() -> None:
    normals = local_normals(random_cloud(0, 4), neighbors=10)
    assert worst(normals.norm(dim=-1), torch.ones(4, dtype=torch.float64)) < 1e-12


@given(seed=seeds(), batch=batch_shapes())
def test_a_frame_about_the_middle_has_as_much_on_either_side(seed: int, batch: Batch) -> None:
    cloud = random_cloud(seed, *batch, 40)
    local = principal_frame(cloud).about_middle(cloud).to_local(cloud)
    assert worst(local.amax(-2), -local.amin(-2)) < ROUNDING[torch.float64]


def test_the_middle_does_not_depend_on_how_densely_the_parts_are_sampled() -> None:
    cloud = random_cloud(0, 200)
    frame, denser = principal_frame(cloud), torch.cat([cloud, cloud[cloud[:, 0] > 0]])
    crowded = frame._replace(centroid=denser.mean(-2))
    assert worst(frame.about_middle(cloud).centroid, crowded.about_middle(denser).centroid) < ROUNDING[torch.float64]
    assert worst(frame.centroid, crowded.centroid) > 0.01
