"""Laws of the learned features."""

import pytest
import torch

from deepume.geometry.neighbors import neighbor_indices
from deepume.networks.features import Dgcnn, PointLayer
from pairs import disturb, skewed_cloud


@pytest.fixture
def dgcnn() -> Dgcnn:
    torch.manual_seed(0)
    return disturb(Dgcnn(32, neighbors=8)).double().eval()  # pyright: ignore[reportReturnType]


def edges_by_hand(dgcnn: Dgcnn, points: torch.Tensor) -> torch.Tensor:
    """One cloud, layer by layer, without folding, splitting or blocks."""
    graph = neighbor_indices(points, points, dgcnn.neighbors)
    edges = torch.cat([points[graph], points[:, None].expand(-1, dgcnn.neighbors, -1)], -1)
    pooled = []
    for layer in dgcnn.edge_layers:
        edges = apply(layer, edges)
        pooled.append(edges.amax(1))
    return apply(dgcnn.point_layer, torch.cat(pooled, -1))


def apply(layer: torch.nn.Module, rows: torch.Tensor) -> torch.Tensor:
    assert isinstance(layer, PointLayer)
    mapped = layer.linear(rows)
    return layer.norm(mapped.flatten(0, -2)).view_as(mapped).relu()


def test_folded_blocks_equal_the_plain_layers(dgcnn):
    points = skewed_cloud(300, seed=1)
    assert torch.allclose(dgcnn(points), edges_by_hand(dgcnn, points), atol=1e-12)


def test_training_takes_batch_statistics_of_all_edges(dgcnn):
    points = skewed_cloud(100, seed=1)
    dgcnn.train()
    assert torch.allclose(dgcnn(points), edges_by_hand(dgcnn, points), atol=1e-12)


def test_features_are_not_negative_and_permute_with_the_points(dgcnn):
    points = skewed_cloud(200, seed=2)
    order = torch.randperm(200, generator=torch.Generator().manual_seed(0))
    features = dgcnn(points)
    assert features.min() >= 0
    assert torch.allclose(dgcnn(points[order]), features[order], atol=1e-12)


def test_a_batch_equals_its_members(dgcnn):
    points = skewed_cloud(2, 3, 60, seed=3)
    assert torch.allclose(dgcnn(points)[1, 2], dgcnn(points[1, 2]), atol=1e-12)


def test_clouds_smaller_than_the_neighborhood_use_all_their_points(dgcnn):
    assert dgcnn(skewed_cloud(5, seed=4)).shape == (5, 32)


def test_every_parameter_learns(dgcnn):
    dgcnn.train()
    points = skewed_cloud(2, 50, seed=5).requires_grad_()
    dgcnn(points).square().sum().backward()
    for tensor in (*dgcnn.parameters(), points):
        assert tensor.grad is not None
        assert torch.isfinite(tensor.grad).all()
        assert tensor.grad.abs().max() > 0


def test_gradients_pass_through_the_folded_layers(dgcnn):
    points = skewed_cloud(30, seed=6)
    dgcnn(points).square().sum().backward()
    folded = [parameter.grad.clone() for parameter in dgcnn.parameters()]
    dgcnn.zero_grad()
    edges_by_hand(dgcnn, points).square().sum().backward()
    for gradient, parameter in zip(folded, dgcnn.parameters(), strict=True):
        assert torch.allclose(gradient, parameter.grad, rtol=1e-8, atol=1e-10)


def test_half_precision_keeps_the_offsets_of_near_neighbors(dgcnn):
    points = 0.7 + 0.01 * skewed_cloud(200, seed=5).float()
    dgcnn = dgcnn.float().train()
    exact = dgcnn(points)
    with torch.autocast("cpu", torch.bfloat16):
        rounded = dgcnn(points).float()
    assert (rounded - exact).norm() < 0.1 * exact.norm()
