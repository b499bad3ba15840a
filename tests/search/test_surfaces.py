"""Surfaces that slid on each other are brought back, others are not moved."""

import numpy as np
import pytest
from torch import Tensor

from deepume import RigidTransform
from deepume.datasets import make_shape
from deepume.datasets.pairs.scenarios import density, zero
from deepume.search.pair import CloudPair
from deepume.search.sampling.relation import CloudFit
from deepume.search.sampling.surfaces import correct_slide
from framed_pairs import POLICY, move_and_frame
from strategies import generator, random_motion


def samples(family: str, n: int) -> Tensor:
    return make_shape(family, generator=generator(3)).sample(n, generator=generator(1))


def framed(source: Tensor, target: Tensor) -> tuple[CloudPair, RigidTransform]:
    return move_and_frame(source, target, random_motion(0))


def shifted(pair: CloudPair, pose: RigidTransform) -> CloudFit:
    return pair.fit(RigidTransform(pose.rotation, pose.translation + 0.25 * pair.target.spacing))


def off(pose: RigidTransform, truth: RigidTransform, pair: CloudPair) -> float:
    """Distance between the places of the source, in spacings."""
    steps = pose.apply(pair.source.points) - truth.apply(pair.source.points)
    return float(np.sqrt((steps**2).sum(-1).mean()) / pair.target.spacing)


@pytest.mark.parametrize("family", ["chair", "body", "hand"])
def test_surfaces_that_slid_are_brought_back(family: str) -> None:
    pair, truth = framed(*zero(samples(family, 1400), 700, generator=generator(4)))
    before = shifted(pair, truth)
    after = correct_slide(pair, before)
    assert off(after.pose, truth, pair) < 0.8 * off(before.pose, truth, pair)
    assert after.score * (1 + POLICY.surfaces.closer * pair.chance) < before.score


@pytest.mark.parametrize("family", ["body", "hand"])
def test_round_surfaces_which_cannot_slide_are_left_alone(family: str) -> None:
    pair, truth = framed(*zero(samples(family, 1400), 700, generator=generator(4)))
    laid = pair.fit(pair.gicp(truth[None], POLICY.surfaces.gicp)[0])
    assert correct_slide(pair, laid) is laid


@pytest.mark.parametrize("family", ["chair", "body", "hand"])
def test_uneven_clouds_whose_points_would_mislead_are_left_alone(family: str) -> None:
    pair, truth = framed(*density(samples(family, 3000), 700, generator=generator(4)))
    before = shifted(pair, truth)
    assert correct_slide(pair, before) is before
