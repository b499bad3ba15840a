"""The fast network of the paper equals the literal twin, in evaluation and in training."""

import pytest
import torch

from deepume.networks.paper import PaperConfig, PaperDeepUME
from golden.released_twin import twin_name, twin_of

TOLERANCE = {torch.float32: 1e-4, torch.float64: 1e-9}


def lived_in(model: PaperDeepUME, seed: int = 0) -> PaperDeepUME:
    """Weights and running statistics as after some training: nothing at its initial 0 or 1."""
    generator = torch.Generator().manual_seed(seed)
    for name, value in model.state_dict().items():
        if "norm" in name and value.is_floating_point():
            value.add_(0.3 * torch.rand(value.shape, generator=generator))
    return model


def clouds(dtype: torch.dtype, batch: int, count: int, seed: int) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    points = torch.randn(batch, count, 3, generator=generator, dtype=torch.float64)
    shaped = points * torch.tensor([1.0, 0.6, 0.3], dtype=torch.float64)
    return (shaped + 0.2 * shaped.square().roll(1, -1) + 0.5).to(dtype)


@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_the_paper_network_equals_the_twin(dtype, training):
    torch.manual_seed(0)
    model = lived_in(PaperDeepUME(PaperConfig(feature_dim=64))).to(dtype).train(training)
    source, target = clouds(dtype, 3, 150, 1), clouds(dtype, 3, 130, 2)
    twin = twin_of(model)
    with torch.no_grad():
        rotation, translation = twin(source.mT, target.mT)
        pose = model(source, target).target_from_source
    assert (pose.rotation - rotation).abs().max() < TOLERANCE[dtype]
    assert (pose.translation - translation).abs().max() < TOLERANCE[dtype]


def test_both_learn_the_same():
    torch.manual_seed(0)
    model = lived_in(PaperDeepUME(PaperConfig(feature_dim=32))).double().train()
    source, target = clouds(torch.float64, 2, 80, 3), clouds(torch.float64, 2, 90, 4)
    twin = twin_of(model)
    twin(source.mT, target.mT)[0].square()[..., 0, 1].sum().backward()
    model(source, target).target_from_source.rotation.square()[..., 0, 1].sum().backward()
    theirs = dict(twin.named_parameters())
    for name, ours in model.named_parameters():
        expected = theirs[twin_name(name)].grad
        assert ours.grad is not None, name
        assert expected is not None, name
        assert (ours.grad - expected.view_as(ours)).abs().max() < 1e-8, name
    statistics = dict(twin.named_buffers())
    for name, ours in model.describe.named_buffers(prefix="describe"):
        assert torch.allclose(ours, statistics[twin_name(name)]), name
