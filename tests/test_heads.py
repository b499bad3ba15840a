"""Weights of points: kept where they tell points apart, equal where they do not."""

import torch
from hypothesis import given

from deepume.heads import even_out, solve_by_displacement, weigh_alike
from deepume.network import Pair
from deepume.rotation import solve_motion
from strategies import batch_shapes, generator, random_cloud, seeds, sizes, worst


def draw_features(seed: int, batch: tuple[int, ...], count: int, spread: float) -> Pair:
    draws = torch.randn(2, *batch, count, 1, generator=generator(seed), dtype=torch.float64)
    return Pair(*(spread * (draws - draws.mean()) / draws.std()).exp().expand(*draws.shape[:-1], 3).unbind())


@given(seed=seeds(), batch=batch_shapes(), count=sizes())
def test_weights_are_alike_whatever_their_unit(seed, batch, count):
    for spread, expected in ((0.01, True), (3.0, False)):
        features = draw_features(seed, batch, count, spread)
        for unit in (1e-3, 1.0, 1e3):
            assert bool((weigh_alike(Pair(*(unit * rows for rows in features))) == expected).all())


@given(seed=seeds(), count=sizes())
def test_weights_that_tell_points_apart_are_kept_and_others_are_equal(seed, count):
    both = [draw_features(seed, (), count, spread) for spread in (0.01, 3.0)]
    batch = Pair(*(torch.stack(rows) for rows in zip(*both, strict=True)))
    for even, before in zip(even_out(batch), batch, strict=True):
        assert worst(even[0], torch.ones_like(even[0])) == 0
        assert worst(even[1], before[1]) == 0


@given(seed=seeds(), count=sizes())
def test_equal_weights_are_plain_least_squares(seed, count):
    canonical, resampled = (Pair(*random_cloud(seed + k, 2, count).unbind()) for k in range(2))
    even = even_out(draw_features(seed, (), count, 0.01))
    plain = solve_motion(
        torch.cat([canonical.source, resampled.target]), torch.cat([resampled.source, canonical.target])
    )
    found = solve_by_displacement(canonical, resampled, even)
    assert worst(found.rotation, plain.rotation) < 1e-6
    assert worst(found.translation, plain.translation) < 1e-6
