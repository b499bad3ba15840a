import pytest
import torch

from deepume.distances import chamfer, chamfer_squared
from deepume.training.chamfer import chamfer_loss
from deepume.training.recipe import LossDistance


@pytest.mark.parametrize(
    ("distance", "reference"), [(LossDistance.SQUARED, chamfer_squared), (LossDistance.PLAIN, chamfer)]
)
def test_equals_the_distance_of_the_library(distance, reference):
    generator = torch.Generator().manual_seed(3)
    source, target = (torch.randn(4, n, 3, generator=generator) for n in (40, 57))
    torch.testing.assert_close(chamfer_loss(source, target, distance), reference(source, target))


def test_gradient_is_that_of_the_library():
    generator = torch.Generator().manual_seed(4)
    source, target = (torch.randn(2, n, 3, generator=generator) for n in (20, 30))
    ours, theirs = source.clone().requires_grad_(), source.clone().requires_grad_()
    chamfer_loss(ours, target, LossDistance.SQUARED).sum().backward()
    chamfer_squared(theirs, target).sum().backward()
    torch.testing.assert_close(ours.grad, theirs.grad)


def test_does_not_round_to_half_precision_under_autocast():
    generator = torch.Generator().manual_seed(5)
    cloud = torch.randn(1, 500, 3, generator=generator)
    with torch.autocast("cpu", torch.bfloat16):
        value = chamfer_loss(cloud, cloud + 1e-5, LossDistance.PLAIN)
    assert value.dtype == torch.float32
    assert value.item() == pytest.approx(2 * 3**0.5 * 1e-5, rel=0.02)
