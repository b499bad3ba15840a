from collections.abc import Callable
from functools import partial

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from deepume.datasets.pairs import scenarios
from deepume.datasets.pairs.occlusion import find_visible
from deepume.datasets.pairs.scenarios import Clouds, Scenario, draw_clouds
from deepume.errors import CloudValueError

SINGLE = [scenario for scenario in Scenario if scenario is not Scenario.DIFFERENT]
BATCHED = [s for s in SINGLE if s not in (Scenario.BERNOULLI, Scenario.OCCLUSION)]
SHARED_BY_NONE = [Scenario.ZERO, Scenario.DENSITY, Scenario.OVERLAP, Scenario.OCCLUSION]


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def ball(*batch: int, points: int = 1024, seed: int = 7) -> Tensor:
    cloud = torch.randn(*batch, points, 3, generator=generator(seed), dtype=torch.float64)
    return cloud / cloud.norm(dim=-1, keepdim=True)


def rows(cloud: Tensor) -> set[tuple[float, ...]]:
    return {tuple(point) for point in cloud.tolist()}


@pytest.mark.parametrize("scenario", SINGLE)
@given(seed=st.integers(0, 1000), n=st.integers(16, 128))
def test_same_seed_same_clouds_of_at_most_n_points(scenario: Scenario, seed: int, n: int) -> None:
    cloud = ball(points=512)
    first = draw_clouds(scenario, cloud, n, generator=generator(seed))
    second = draw_clouds(scenario, cloud, n, generator=generator(seed))
    for one, other in zip(first, second, strict=True):
        assert torch.equal(one, other)
        assert 3 <= len(one) <= n


@pytest.mark.parametrize("scenario", SHARED_BY_NONE)
@given(seed=st.integers(0, 1000))
def test_zero_intersection_shares_no_point(scenario: Scenario, seed: int) -> None:
    cloud = ball()
    source, target = draw_clouds(scenario, cloud, 200, generator=generator(seed))
    assert not rows(source) & rows(target)
    assert rows(source) | rows(target) <= rows(cloud)
    assert len(rows(source)) == len(source)
    assert len(rows(target)) == len(target)


def test_noise_free_holds_the_same_points_in_another_order() -> None:
    source, target = scenarios.noise_free(ball(), 300, generator=generator())
    assert rows(source) == rows(target)
    assert not torch.equal(source, target)


def test_paper_training_shares_about_half() -> None:
    shares = []
    for seed in range(20):
        source, target = scenarios.paper_training(ball(), 256, generator=generator(seed))
        assert len(rows(source)) == len(rows(target)) == 256
        shares.append(len(rows(source) & rows(target)) / 256)
    assert sum(shares) / 20 == pytest.approx(0.5, abs=0.03)


def test_bernoulli_keeps_sizes_in_range_and_shares_some() -> None:
    sizes, cloud = [], ball(points=2048)
    for seed in range(150):
        source, target = scenarios.bernoulli(cloud, 1024, generator=generator(seed))
        sizes += [len(source), len(target)]
        assert rows(source) & rows(target)
    assert min(sizes) >= 200
    assert max(sizes) <= 1024
    assert sum(sizes) / len(sizes) == pytest.approx(0.6 * 1024, rel=0.08)
    assert len(set(sizes)) > 50


def test_bernoulli_takes_its_probabilities_from_a_sweep() -> None:
    draw = partial(scenarios.bernoulli, keep=(0.3, 0.9))
    pairs = [draw(ball(), 512, generator=generator(seed)) for seed in range(20)]
    sizes = torch.tensor([[len(source), len(target)] for source, target in pairs], dtype=torch.float64)
    assert (sizes.mean(0) / 512 - torch.tensor([0.3, 0.9])).abs().max() < 0.03
    with pytest.raises(CloudValueError, match="larger n, or keep more"):
        scenarios.bernoulli(ball(), 64, generator=generator(), keep=(0.0, 0.5))


def test_gaussian_noise_is_on_the_target_with_one_std_per_pair() -> None:
    cloud = ball(400)
    source, target = scenarios.gaussian(cloud, 512, generator=generator())
    exact, _ = scenarios.noise_free(cloud, 512, generator=generator())
    assert torch.equal(source, exact)
    _, still = scenarios.noise_free(cloud, 512, generator=generator())
    stds = (target - still).flatten(1).std(-1)
    assert stds.max() < 0.04 * 1.1
    assert stds.mean().item() == pytest.approx(0.02, abs=0.002)
    assert stds.min() < 0.002


def test_gaussian_takes_its_std_from_a_sweep() -> None:
    _, target = scenarios.gaussian(ball(), 512, generator=generator(), std=0.09)
    _, still = scenarios.noise_free(ball(), 512, generator=generator())
    assert (target - still).std().item() == pytest.approx(0.09, rel=0.1)


def test_zero_noise_moves_both_clouds() -> None:
    noisy = scenarios.zero_noise(ball(), 512, generator=generator())
    exact = scenarios.zero(ball(), 512, generator=generator())
    for one, other in zip(noisy, exact, strict=True):
        assert (one - other).std().item() == pytest.approx(0.02, rel=0.1)


def test_density_thins_the_target_to_one_side_and_leaves_the_source_uniform() -> None:
    source, target = scenarios.density(ball(64, points=4096), 1024, generator=generator())
    assert source.shape == target.shape == (64, 1024, 3)
    assert source.mean(-2).norm(dim=-1).max() < 0.15
    assert target.mean(-2).norm(dim=-1).min() > 0.3


def test_density_follows_the_logistic_law() -> None:
    _, target = scenarios.density(ball(points=20_000), 5_000, generator=generator())
    axis = target.mean(0) / target.mean(0).norm()
    share_above = (target @ axis > 0).double().mean().item()
    height = torch.linspace(0, 1, 1001, dtype=torch.float64)  # heights on a sphere are uniform
    expected = torch.sigmoid(4 * height * 3**0.5).mean().item()
    assert share_above == pytest.approx(expected, abs=0.02)


def test_density_gives_what_the_cloud_allows() -> None:
    source, target = scenarios.density(ball(points=1024), 512, generator=generator())
    assert len(source) == 512
    assert 150 < len(target) < 400


def test_a_tenth_are_outliers_in_the_doubled_cube() -> None:
    cloud = ball()
    for made in scenarios.outliers(cloud, 200, generator=generator()):
        assert len(made) == 200
        strays = torch.tensor([tuple(p) not in rows(cloud) for p in made.tolist()])
        assert strays.sum() == 20
        assert strays[:180].any()
        assert made.abs().max() <= 2.0
        assert made[strays].abs().max() > 1.2


@pytest.mark.parametrize("fraction", [0.5, 0.7])
def test_overlap_keeps_a_half_space(fraction: float) -> None:
    source, target = scenarios.overlap(ball(20), 500, generator=generator(), fraction=fraction)
    assert source.shape == target.shape == (20, round(500 * fraction), 3)
    kept = scenarios.overlap(ball(), 500, generator=generator(), fraction=fraction)[0]
    axis = kept.mean(0) / kept.mean(0).norm()
    assert (kept @ axis).min().item() == pytest.approx(1 - 2 * fraction, abs=0.15)


def test_occlusion_sees_the_front_of_a_ball() -> None:
    cloud = ball(points=2048)
    view_point = torch.tensor([0, 0, 3.0], dtype=torch.float64)
    visible = find_visible(cloud, view_point)
    front = cloud[:, 2] > 1 / 3
    assert visible[front].all()
    assert visible[cloud[:, 2] < 0].sum() == 0
    assert visible.double().mean().item() == pytest.approx(1 / 3, abs=0.05)


def test_occlusion_has_two_views() -> None:
    source, target = draw_clouds(Scenario.OCCLUSION, ball(points=4096), 512, generator=generator())
    one, other = (cloud.mean(0) / cloud.mean(0).norm() for cloud in (source, target))
    assert (one @ other).item() < 0.99
    assert (source @ one).min() > 0.1


@pytest.mark.parametrize("scenario", BATCHED)
def test_a_batch_has_the_shapes_and_statistics_of_its_members(scenario: Scenario) -> None:
    cloud = ball(8, points=2048) * torch.linspace(1, 2, 8, dtype=torch.float64)[:, None, None]
    batch = draw_clouds(scenario, cloud, 256, generator=generator())
    single = [draw_clouds(scenario, member, 256, generator=generator(9)) for member in cloud]
    for side in range(2):
        assert batch[side].shape[:-2] == (8,)
        members = torch.stack([pair[side] for pair in single])
        assert batch[side].shape == members.shape
        spread = [clouds.norm(dim=-1).mean(-1) for clouds in (batch[side], members)]
        assert (spread[0] / spread[1] - 1).abs().max() < 0.1


@pytest.mark.parametrize("scenario", BATCHED)
def test_members_of_a_batch_are_drawn_independently(scenario: Scenario) -> None:
    cloud = ball(points=1024).expand(3, 1024, 3)
    source, target = draw_clouds(scenario, cloud, 128, generator=generator())
    assert not torch.equal(source[0], source[1])
    assert not torch.equal(target[0], target[1])


def test_no_batch_and_float32_work_too() -> None:
    source, target = scenarios.zero(ball().float(), 64, generator=generator())
    assert source.dtype == target.dtype == torch.float32


def test_different_takes_two_shapes() -> None:
    cloud, other = ball(), 5 * ball(points=300)
    source, target = draw_clouds(Scenario.DIFFERENT, cloud, 100, generator=generator(), other=other)
    assert rows(source) <= rows(cloud)
    assert rows(target) <= rows(other)
    with pytest.raises(CloudValueError, match="second shape"):
        draw_clouds(Scenario.DIFFERENT, cloud, 100, generator=generator())


@pytest.mark.parametrize("draw", [scenarios.zero, scenarios.density, scenarios.bernoulli, scenarios.occlude])
def test_too_few_points_name_the_remedy(draw: Callable[..., Clouds]) -> None:
    with pytest.raises(CloudValueError, match=r"200 points .* has 150.*smaller n"):
        draw(ball(points=150), 100, generator=generator())
