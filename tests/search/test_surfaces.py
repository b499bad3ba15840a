"""Surfaces that slid on each other are brought back, others are not moved."""

import pytest
from torch import Tensor

from deepume import RigidTransform
from deepume.alignment.fit import Fit
from deepume.alignment.indexed_pair import PreparedPair
from deepume.datasets import make_shape
from deepume.datasets.pairs.scenarios import density, zero
from deepume.search.finish import FINE_GICP
from deepume.search.pair import prepare_pair
from deepume.search.tangential import CLOSER, bring_back
from strategies import generator, random_motion


def samples(family: str, n: int) -> Tensor:
    return make_shape(family, generator=generator(3)).sample(n, generator=generator(1))


def prepared(source: Tensor, target: Tensor) -> tuple[PreparedPair, RigidTransform]:
    motion = random_motion(0)
    pair, placement = prepare_pair(source, motion.apply(target))
    return pair, placement.enter(motion[None])[0]


def slide(pair: PreparedPair, pose: RigidTransform) -> Fit:
    return Fit.of(pair, RigidTransform(pose.rotation, pose.translation + 0.25 * pair.target.spacing))


def off(pose: RigidTransform, truth: RigidTransform, pair: PreparedPair) -> float:
    """Distance between the places of the source, in spacings."""
    apart = pose.apply(pair.source.points) - truth.apply(pair.source.points)
    return float(apart.square().sum(-1).mean().sqrt() / pair.target.spacing)


@pytest.mark.parametrize("family", ["chair", "body", "hand"])
def test_surfaces_that_slid_are_brought_back(family: str) -> None:
    pair, truth = prepared(*zero(samples(family, 1400), 700, generator=generator(4)))
    before = slide(pair, truth)
    after = bring_back(pair, before)
    assert off(after.pose, truth, pair) < 0.8 * off(before.pose, truth, pair)
    assert after.score * (1 + CLOSER * pair.chance) < before.score


@pytest.mark.parametrize("family", ["body", "hand"])
def test_round_surfaces_which_cannot_slide_are_left_alone(family: str) -> None:
    pair, truth = prepared(*zero(samples(family, 1400), 700, generator=generator(4)))
    laid = Fit.of(pair, pair.gicp(truth[None], FINE_GICP)[0])
    assert bring_back(pair, laid) is laid


@pytest.mark.parametrize("family", ["chair", "body", "hand"])
def test_uneven_clouds_whose_points_would_mislead_are_left_alone(family: str) -> None:
    pair, truth = prepared(*density(samples(family, 3000), 700, generator=generator(4)))
    slid = slide(pair, truth)
    assert bring_back(pair, slid) is slid
