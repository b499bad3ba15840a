"""Monomials: their number and their derivatives."""

import pytest
import torch

from deepume.geometry.moments import make_monomials
from strategies import random_cloud, worst


@pytest.mark.parametrize(("degree", "count"), [(1, 3), (2, 9), (3, 19), (5, 55)])
def test_slopes_and_laplacians_are_those_of_the_values(degree: int, count: int) -> None:
    points = random_cloud(0, 5)
    found = make_monomials(points, degree)
    assert found.values.shape == (5, count)

    def values(flat: torch.Tensor) -> torch.Tensor:
        return make_monomials(flat.view(1, 3), degree).values[0]

    for k, point in enumerate(points):
        slopes = torch.autograd.functional.jacobian(values, point)
        bends = torch.autograd.functional.jacobian(
            lambda flat: torch.autograd.functional.jacobian(values, flat, create_graph=True), point
        )
        assert worst(found.gradients[k], slopes.mT) < 1e-12
        assert worst(found.laplacians[k], bends.diagonal(dim1=1, dim2=2).sum(-1)) < 1e-12


def test_clouds_of_a_batch_do_not_mix() -> None:
    clouds = random_cloud(1, 2, 4)
    for together, alone in zip(make_monomials(clouds, 4), make_monomials(clouds[1], 4), strict=True):
        assert torch.equal(together[1], alone)
