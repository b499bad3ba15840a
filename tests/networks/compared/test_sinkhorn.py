import pytest
import torch
from hypothesis import given

from deepume.networks.compared.sinkhorn import log_sinkhorn
from strategies import batch_shapes, generator, seeds, sizes, worst
from tolerances import ROUNDING


def random_scores(seed: int, *shape: int) -> torch.Tensor:
    return 3 * torch.randn(*shape, generator=generator(seed), dtype=torch.float64)


def padded_sinkhorn(scores: torch.Tensor, iterations: int) -> torch.Tensor:
    """The slow twin: a matrix with a slack row and column of scores 0, normalized in turn but for the slack lines."""
    padded = torch.nn.functional.pad(scores, (0, 1, 0, 1))
    for _ in range(iterations):
        rows = padded[..., :-1, :]
        padded = torch.cat([rows - rows.logsumexp(-1, keepdim=True), padded[..., -1:, :]], -2)
        columns = padded[..., :, :-1]
        padded = torch.cat([columns - columns.logsumexp(-2, keepdim=True), padded[..., :, -1:]], -1)
    return padded[..., :-1, :-1]


@given(seed=seeds(), batch=batch_shapes(), n=sizes(2, 9), m=sizes(2, 9))
def test_slack_is_a_line_that_is_never_normalized(seed: int, batch: tuple[int, ...], n: int, m: int) -> None:
    scores = random_scores(seed, *batch, n, m)
    assert worst(log_sinkhorn(scores, 5), padded_sinkhorn(scores, 5)) < ROUNDING[torch.float64] * 100


@given(seed=seeds(), n=sizes(2, 9))
def test_without_slack_rows_and_columns_sum_to_one(seed: int, n: int) -> None:
    assignment = log_sinkhorn(random_scores(seed, n, n) / 3, 300, slack=False).exp()
    assert worst(assignment.sum(-1), torch.ones(n, dtype=torch.float64)) < 1e-4
    assert worst(assignment.sum(-2), torch.ones(n, dtype=torch.float64)) < 1e-12


@given(seed=seeds(), n=sizes(2, 9), m=sizes(2, 9))
def test_with_slack_no_line_sums_to_more_than_one(seed: int, n: int, m: int) -> None:
    assignment = log_sinkhorn(random_scores(seed, n, m)).exp()
    assert float(assignment.sum(-2).max()) <= 1
    assert float(assignment.sum(-1).max()) < 1.05, "rows are normalized before columns, and have converged"


@given(seed=seeds(), n=sizes(3, 9))
def test_permuting_points_permutes_the_assignment(seed: int, n: int) -> None:
    scores, order = random_scores(seed, n, n), torch.randperm(n, generator=generator(seed))
    assert worst(log_sinkhorn(scores[order]), log_sinkhorn(scores)[order]) < 1e-12


def test_clear_scores_give_the_permutation() -> None:
    order = torch.tensor([2, 0, 3, 1])
    scores = 40 * torch.eye(4, dtype=torch.float64)[order] - 20
    assert torch.equal(log_sinkhorn(scores).exp().round(), torch.eye(4, dtype=torch.float64)[order])


@pytest.mark.parametrize("slack", [True, False])
@pytest.mark.parametrize("iterations", [1, 4])
def test_gradients_match_finite_differences(slack: bool, iterations: int) -> None:
    scores = random_scores(3, 2, 4, 4 if not slack else 5).requires_grad_()
    assert torch.autograd.gradcheck(lambda values: log_sinkhorn(values, iterations, slack=slack), scores)


def test_no_matrix_of_an_iteration_is_kept() -> None:
    kept: list[int] = []
    with torch.autograd.graph.saved_tensors_hooks(
        lambda value: kept.append(value.numel()) or value, lambda value: value
    ):
        log_sinkhorn(random_scores(0, 50, 50).requires_grad_(), 20)
    assert sum(kept) <= 50 * 50 + 50 * 41


@pytest.mark.parametrize("spread", [30.0, 200.0])
def test_scores_that_no_exponential_can_hold_still_give_the_assignment(spread: float) -> None:
    scores = spread * random_scores(5, 12, 12) / 3
    single = scores.float().requires_grad_()
    log_assignment = log_sinkhorn(single)
    assert worst(log_assignment.exp(), padded_sinkhorn(scores, 20).exp()) < 1e-4
    log_assignment.exp().sum().backward()
    assert single.grad is not None
    assert bool(torch.isfinite(single.grad).all())
