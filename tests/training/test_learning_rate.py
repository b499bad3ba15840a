import itertools

import pytest

from deepume.training.recipes.learning_rate import Schedule, learning_rate_factor


@pytest.mark.parametrize("schedule", Schedule)
def test_stays_between_zero_and_the_peak(schedule: Schedule):
    factors = [learning_rate_factor(schedule, k / 1000) for k in range(-100, 1101)]
    assert min(factors) > 0
    assert max(factors) == pytest.approx(1)


def test_paper_divides_by_ten_at_epochs_75_150_200_of_250():
    epochs = [0, 74.9, 75, 149.9, 150, 199.9, 200, 250]
    factors = [learning_rate_factor(Schedule.PAPER, epoch / 250) for epoch in epochs]
    assert factors == pytest.approx([1, 1, 0.1, 0.1, 0.01, 0.01, 0.001, 0.001])


def test_cosine_rises_once_and_falls_once_without_jumps():
    factors = [learning_rate_factor(Schedule.COSINE, k / 1000) for k in range(1001)]
    steps = [after - before for before, after in itertools.pairwise(factors)]
    peak = factors.index(max(factors))
    assert all(step > 0 for step in steps[:peak])
    assert all(step < 0 for step in steps[peak:])
    assert max(abs(step) for step in steps) < 0.06
    assert factors[-1] == pytest.approx(0.01)
