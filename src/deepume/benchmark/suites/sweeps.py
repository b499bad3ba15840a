"""Scenarios with their parameters set, for sweeps."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from deepume.benchmark.suites.suite import Condition
from deepume.datasets import Scenario
from deepume.datasets.pairs.scenarios import Clouds, bernoulli, gaussian
from deepume.errors import DeepumeError


def draw_of(condition: Condition) -> Callable[..., Clouds] | None:
    """How the clouds of a block are drawn; None where the scenario is as it is defined."""
    match condition.scenario, dict(condition.parameters):
        case _, {} as parameters if not parameters:
            return None
        case Scenario.GAUSSIAN, {"std": std}:
            return partial(gaussian, std=std)
        case Scenario.BERNOULLI, {"keep_source": first, "keep_target": second}:
            return partial(bernoulli, keep=(first, second))
    raise DeepumeError(
        f"Scenario {condition.scenario!r} cannot be swept over {[name for name, _ in condition.parameters]}: "
        f"'gaussian' takes std, 'bernoulli' takes keep_source and keep_target."
    )
