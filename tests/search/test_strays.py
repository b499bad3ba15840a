"""Points far from all others are left out of the search, and nothing else is."""

import torch
from torch import Tensor

from deepume import register
from deepume.datasets import list_families, make_shape
from deepume.datasets.pairs.metrics import rotation_error_deg
from deepume.geometry.neighbors import nearest
from deepume.search.pair import find_strays
from framed_pairs import POLICY, frame, index
from strategies import generator, random_cloud, random_motion, worst


def strays(cloud: Tensor) -> Tensor:
    return torch.from_numpy(find_strays(index(cloud), POLICY.strays))


def samples(n: int, seed: int, family: str = "chair") -> Tensor:
    return make_shape(family, generator=generator(3)).sample(n, generator=generator(seed))


def strewn(cloud: Tensor, count: int, seed: int) -> Tensor:
    """The cloud, then strays in the doubled cube around it."""
    low, high = cloud.amin(0), cloud.amax(0)
    unit = torch.rand(count, 3, generator=generator(seed), dtype=torch.float64) - 0.5
    return torch.cat([cloud, (low + high) / 2 + 2 * (high - low).max() * unit])


def test_whole_shapes_have_hardly_any() -> None:
    shares = [float(strays(samples(300, 1, family)).double().mean()) for family in list_families()]
    assert sum(shares) / len(shares) < 0.005


def test_most_points_strewn_around_a_shape_are_strays() -> None:
    is_stray = strays(strewn(samples(500, 1), 50, 2))
    assert float(is_stray[500:].double().mean()) > 0.8
    assert float(is_stray[:500].double().mean()) < 0.01


def test_a_lone_far_point_stays_for_a_copy_of_it_may_be_not_quite_as_far() -> None:
    assert not strays(strewn(samples(500, 1), 3, 2)).any()


def test_two_scales_of_one_cloud_and_repeated_points_are_no_strays() -> None:
    dense, sparse = 0.01 * random_cloud(0, 60), random_cloud(1, 40)
    assert len(sparse) > POLICY.strays.most * (len(dense) + len(sparse))
    assert not strays(torch.cat([dense, sparse])).any()
    assert not strays(torch.cat([*[dense[:10]] * 8, sparse[:5]])).any()
    assert not strays(random_cloud(0, 3)).any()


def test_the_frame_of_a_pair_is_that_of_what_remains() -> None:
    source, target, motion = samples(400, 1), samples(400, 2), random_motion(0)
    few = frame(source, motion.apply(target))
    many_source, many_target = strewn(source, 40, 3), motion.apply(strewn(target, 40, 4))
    many = frame(many_source, many_target)
    assert many.has_strays
    assert not few.has_strays
    assert worst(many.frame.source_origin, few.frame.source_origin) < 0.1 * float(source.std())
    assert abs(float(many.frame.target_unit / few.frame.target_unit) - 1) < 0.1


def test_strays_do_not_spoil_the_answer_and_have_residuals_too() -> None:
    motion = random_motion(0)
    source, target = strewn(samples(600, 1), 60, 3), motion.apply(strewn(samples(600, 2), 60, 4))
    result = register(source, target)
    assert float(rotation_error_deg(result.target_from_source, motion)) < 1.5
    assert result.residuals is not None
    expected = nearest(result.target_from_source.apply(source), target).distances
    assert worst(result.residuals, expected) < 1e-9
