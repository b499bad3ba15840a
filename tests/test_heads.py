"""Weights of points: alike or not, whatever their unit."""

import torch
from hypothesis import given

from deepume.heads import ALIKE, weigh_alike
from deepume.network import Pair
from strategies import batch_shapes, generator, seeds, sizes


def draw_features(seed: int, batch: tuple[int, ...], count: int, spread: float) -> Pair:
    """Three features of each point, all of them its weight, whose logarithms have this standard deviation."""
    draws = torch.randn(*batch, 2 * count, generator=generator(seed), dtype=torch.float64)
    draws = (draws - draws.mean(-1, keepdim=True)) / draws.std(-1, keepdim=True)
    return Pair(*(spread * draws).exp().unsqueeze(-1).expand(*batch, 2 * count, 3).split(count, -2))


@given(seed=seeds(), batch=batch_shapes(), count=sizes())
def test_weights_are_alike_by_the_spread_of_their_logarithms(seed, batch, count):
    for spread in (0.0, 0.99 * ALIKE, 1.01 * ALIKE, 3.0):
        features = draw_features(seed, batch, count, spread)
        for unit in (1e-3, 1.0, 1e3):
            alike = weigh_alike(Pair(*(unit * rows for rows in features)))
            assert alike.shape == batch
            assert bool((alike == (spread < ALIKE)).all())
