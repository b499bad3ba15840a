"""Laws of the joint resamplers."""

import pytest
import torch

from deepume.networks.resamplers import Attention, AttentionResampler, PaperNorm, PaperResampler, fourier_features
from pairs import disturb, seeded, skewed_cloud


@pytest.fixture(params=["coordinates", "features"])
def paper(request) -> PaperResampler:
    torch.manual_seed(0)
    model = PaperResampler() if request.param == "coordinates" else PaperResampler(16, heads=4, hidden=32)
    return disturb(model).double()  # pyright: ignore[reportReturnType]


def tokens(paper: PaperResampler, *shape: int, seed: int) -> torch.Tensor:
    width = paper.cross_attention.query.in_features
    return torch.randn(*shape, width, generator=seeded(seed), dtype=torch.float64)


def attend(attention: Attention, rows: torch.Tensor, memory: torch.Tensor) -> torch.Tensor:
    """Attention of one cloud, head by head, with the whole matrix."""
    query, key, value = attention.query(rows), attention.key(memory), attention.value(memory)
    size = rows.shape[-1] // attention.heads
    heads = zip(query.split(size, -1), key.split(size, -1), value.split(size, -1), strict=True)
    read = [torch.softmax(q @ k.mT / size**0.5, -1) @ v for q, k, v in heads]
    return attention.out(torch.cat(read, -1))


def test_attention_equals_the_formula(paper):
    rows, memory = tokens(paper, 20, seed=1), tokens(paper, 30, seed=2)
    assert torch.allclose(paper.cross_attention(rows, memory), attend(paper.cross_attention, rows, memory), atol=1e-12)


def test_paper_resampler_permutes_with_its_cloud_and_ignores_the_order_of_the_other(paper):
    cloud, other = tokens(paper, 20, seed=1), tokens(paper, 30, seed=2)
    order, other_order = torch.randperm(20, generator=seeded(0)), torch.randperm(30, generator=seeded(1))
    moved = paper(cloud, other)
    assert torch.allclose(paper(cloud[order], other[other_order]), moved[order], atol=1e-12)


def test_paper_resampler_batch_equals_members(paper):
    cloud, other = tokens(paper, 2, 3, 20, seed=1), tokens(paper, 2, 3, 30, seed=2)
    assert torch.allclose(paper(cloud, other)[1, 2], paper(cloud[1, 2], other[1, 2]), atol=1e-12)


def test_paper_norm_adds_epsilon_to_the_unbiased_deviation():
    rows = torch.tensor([[1.0, 2.0, 4.0], [0.0, 0.0, 0.0]], dtype=torch.float64)
    normed = PaperNorm(3).double()(rows)
    expected = (rows[0] - rows[0].mean()) / (rows[0].std() + 1e-6)
    assert torch.allclose(normed[0], expected)
    assert torch.equal(normed[1], torch.zeros(3, dtype=torch.float64))


@pytest.fixture
def resampler() -> AttentionResampler:
    torch.manual_seed(0)
    model = AttentionResampler(16, heads=2, blocks=2, features=8, neighbors=6, cross_neighbors=4)
    return model.double()


def run(resampler: AttentionResampler, source: torch.Tensor, target: torch.Tensor):
    return resampler(source, target, resampler.graph(source), resampler.graph(target))


def test_displacements_are_zero_and_features_positive_before_training(resampler):
    for side in run(resampler, skewed_cloud(40, seed=1), skewed_cloud(30, seed=2)):
        assert torch.equal(side.displacement, torch.zeros_like(side.displacement))
        assert side.features.min() > 0


def test_exchanging_the_clouds_exchanges_the_results(resampler):
    disturb(resampler)
    source, target = skewed_cloud(2, 40, seed=1), skewed_cloud(2, 30, seed=2)
    forward, backward = run(resampler, source, target), run(resampler, target, source)
    for one, other in zip(forward, reversed(backward), strict=True):
        for part, same in zip(one, other, strict=True):
            assert torch.allclose(part, same, atol=1e-12)


def test_points_may_come_in_any_order(resampler):
    disturb(resampler)
    source, target = skewed_cloud(40, seed=1), skewed_cloud(30, seed=2)
    order, target_order = torch.randperm(40, generator=seeded(0)), torch.randperm(30, generator=seeded(1))
    before, _ = run(resampler, source, target)
    after, _ = run(resampler, source[order], target[target_order])
    assert torch.allclose(after.displacement, before.displacement[order], atol=1e-12)
    assert torch.allclose(after.features, before.features[order], atol=1e-12)
    assert torch.allclose(after.pooled, before.pooled, atol=1e-12)


def test_tiny_clouds_use_the_neighbors_they_have(resampler):
    source, target = run(resampler, skewed_cloud(3, seed=1), skewed_cloud(4, seed=2))
    assert source.features.shape == (3, 8)
    assert target.features.shape == (4, 8)


def test_repeated_points_have_finite_gradients(resampler):
    disturb(resampler)
    cloud = skewed_cloud(10, seed=1).repeat(2, 1).requires_grad_()
    source, target = run(resampler, cloud, cloud)
    (source.displacement.sum() + target.features.sum()).backward()
    assert cloud.grad is not None
    assert torch.isfinite(cloud.grad).all()


def test_fourier_features_distinguish_points():
    points = torch.tensor([[0.0, 0.0, 0.0], [0.05, 0.0, 0.0]], dtype=torch.float64)
    near, far = fourier_features(points)
    assert (near - far).abs().max() > 0.5
