"""Every kernel against the plain function that defines it.

Needs Triton, and a GPU or Triton's interpreter: ``TRITON_INTERPRET=1 python -m pytest tests/networks/test_kernels.py``.
"""

import os
from importlib.util import module_from_spec, spec_from_file_location
from itertools import pairwise
from pathlib import Path
from types import ModuleType

import pytest
import torch
from torch.nn.functional import batch_norm, layer_norm

import deepume
from deepume.geometry.neighbors import brute_indices
from deepume.networks.features import EDGE_WIDTHS

pytest.importorskip("triton", reason="Triton comes with GPU builds of torch")
pytestmark = pytest.mark.skipif(
    not torch.cuda.is_available() and os.environ.get("TRITON_INTERPRET") != "1", reason="kernels need a GPU"
)
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


def load_kernels(name: str) -> ModuleType:
    """A module of kernels as it is: the runtime type checks of the tests would wrap what Triton must read."""
    spec = spec_from_file_location(Path(name).name, Path(deepume.__file__).parent / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def draw(*shape: int, seed: int = 0, gradient: bool = False) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=generator).to(DEVICE).requires_grad_(gradient)


def gradients(output: torch.Tensor, *inputs: torch.Tensor) -> tuple[torch.Tensor, ...]:
    return torch.autograd.grad((output * draw(*output.shape, seed=9)).sum(), inputs)


@pytest.mark.parametrize(("count", "size", "k"), [(30, 50, 8), (17, 33, 16), (40, 40, 1), (20, 2500, 1), (5, 4000, 3)])
def test_neighbors_are_those_of_brute_force(count: int, size: int, k: int) -> None:
    search_nearest = load_kernels("geometry/nearest_kernel").search_nearest
    queries, points = draw(3, count, 3), draw(3, size, 3, seed=1)
    squared, indices = search_nearest(queries, points, k)
    assert torch.equal(indices, brute_indices(queries.double(), points.double(), k))
    gathered = torch.take_along_dim(points.unsqueeze(1), indices.unsqueeze(-1), 2)
    torch.testing.assert_close(squared, (gathered - queries.unsqueeze(2)).square().sum(-1))


def test_of_points_in_one_place_each_is_found_once() -> None:
    search_nearest = load_kernels("geometry/nearest_kernel").search_nearest
    _, indices = search_nearest(draw(1, 4, 3), torch.zeros(1, 6, 3, device=DEVICE), 6)
    assert torch.equal(indices.sort(-1).values, torch.arange(6, device=DEVICE).expand(1, 4, 6))


@pytest.mark.parametrize("width", [32, 96, 128])
def test_token_norm_is_layer_norm_with_its_gradient(width: int) -> None:
    normalize_tokens = load_kernels("networks/kernels/token_norm").normalize_tokens
    inputs = draw(3, 700, width, gradient=True), draw(width, seed=1, gradient=True), draw(width, seed=2, gradient=True)
    ours, theirs = normalize_tokens(*inputs, 1e-5), layer_norm(inputs[0], (width,), *inputs[1:], 1e-5)
    torch.testing.assert_close(ours, theirs, atol=1e-5, rtol=1e-5)
    for mine, its in zip(gradients(ours, *inputs), gradients(theirs, *inputs), strict=True):
        torch.testing.assert_close(mine, its, atol=1e-3, rtol=1e-4)


def test_pooled_neighbors_are_maxima_with_their_gradient() -> None:
    pool_neighbors = load_kernels("networks/kernels/neighborhood").pool_neighbors
    edges = draw(2, 33, 7, 96, gradient=True)
    ours, theirs = pool_neighbors(edges), edges.amax(-2)
    assert torch.equal(ours, theirs)
    assert torch.equal(*(gradients(pooled, edges)[0] for pooled in (ours, theirs)))


@pytest.mark.parametrize("keep_edges", [True, False])
def test_normalized_and_pooled_edges_are_those_of_batch_norm(keep_edges: bool) -> None:
    normalize_and_pool = load_kernels("networks/kernels/edge_norm").normalize_and_pool
    mapped = draw(37, 5, 96, gradient=True)
    inputs = mapped, draw(96, seed=1, gradient=True), draw(96, seed=2, gradient=True)
    ours = normalize_and_pool(*inputs, 1e-5, keep_edges)
    rows = mapped.flatten(0, 1)
    edges = batch_norm(rows, None, None, *inputs[1:], training=True).view_as(mapped).relu()
    torch.testing.assert_close(ours.pooled, edges.amax(-2), atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(ours.mean, rows.mean(0), atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(ours.variance, rows.var(0, unbiased=False), atol=1e-5, rtol=1e-5)
    mine, its = ours.pooled.square().sum(), edges.max(-2).values.square().sum()
    if keep_edges:
        assert ours.edges is not None
        mine, its = mine + (ours.edges * draw(37, 5, 96, seed=3)).sum(), its + (edges * draw(37, 5, 96, seed=3)).sum()
    for own, other in zip(torch.autograd.grad(mine, inputs), torch.autograd.grad(its, inputs), strict=True):
        torch.testing.assert_close(own, other, atol=1e-4, rtol=1e-4)


def test_pooled_edge_layers_are_those_of_a_dgcnn() -> None:
    pool_edges = load_kernels("networks/kernels/edges").pool_edges
    of_neighbor, of_center = draw(70, 64).half(), draw(70, 64, seed=1).half()
    graph = torch.randint(70, (70, 6), generator=torch.Generator().manual_seed(2)).to(DEVICE)
    sizes = list(pairwise(EDGE_WIDTHS))
    later = [(draw(o, i, seed=k) / i**0.5, draw(o, seed=k + 9)) for k, (i, o) in enumerate(sizes)]
    edges = (of_neighbor[graph] + of_center.unsqueeze(1)).float().relu()
    pooled = [edges.amax(1)]
    for weight, bias in later:
        edges = (edges @ weight.mT + bias).relu()
        pooled.append(edges.amax(1))
    ours = pool_edges(of_neighbor, of_center, graph, later)
    torch.testing.assert_close(ours.float(), torch.cat(pooled, -1), atol=2e-2, rtol=2e-2)
