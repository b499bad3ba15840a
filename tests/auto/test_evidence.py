"""The features that confidence is computed from say what they are named after."""

import math

import torch
from torch import Tensor

from deepume.auto.evidence import FEATURES, describe_fit
from deepume.auto.finish import Finish, Sampling
from deepume.auto.fit import Fit
from deepume.auto.placement import prepare_pair
from deepume.datasets import make_shape
from deepume.transform import RigidTransform
from strategies import generator, random_motion


def features(source: Tensor, target: Tensor, motion: RigidTransform) -> dict[str, float]:
    """The features of the true pose."""
    pair, placement = prepare_pair(source, motion.apply(target))
    fit = Fit.of(pair, placement.enter(motion[None])[0])
    values = describe_fit(pair, Finish(fit, Sampling.INDEPENDENT), None)
    return dict(zip(FEATURES, values.tolist(), strict=True))


def samples(n: int, seed: int) -> Tensor:
    return make_shape("chair", generator=generator(3)).sample(n, generator=generator(seed))


def thinned(n: int, seed: int) -> Tensor:
    """Points that become rare towards one end."""
    points = samples(8 * n, seed)
    kept = torch.rand(len(points), generator=generator(seed), dtype=torch.float64)
    height = points[:, 2] - points[:, 2].mean()
    return points[kept < torch.sigmoid(4 * height / height.std())][:n]


def test_a_sampling_that_thins_out_has_a_gradient_and_an_even_one_has_none() -> None:
    even = features(samples(600, 1), samples(600, 2), random_motion(0))
    uneven = features(samples(600, 1), thinned(600, 2), random_motion(0))
    assert even["gradient"] < 0.1
    assert uneven["gradient"] > 2 * even["gradient"]
    assert uneven["frames"] > 2 * even["frames"]


def test_features_do_not_depend_on_who_is_called_source_nor_on_the_frame() -> None:
    source, target, motion = samples(300, 1), thinned(250, 2), random_motion(0)
    one = features(source, target, motion)
    turned = features(source, target, random_motion(5))
    swapped = features(motion.apply(target), motion.apply(source), motion.inverse())
    for name in FEATURES:
        assert abs(one[name] - turned[name]) < 1e-6
        assert abs(one[name] - swapped[name]) < 1e-6


def test_moments_of_copies_agree_whatever_the_noise_those_of_two_samplings_and_of_wrong_poses_do_not() -> None:
    source = samples(600, 1)
    noisy = source + 0.04 * torch.randn(source.shape, generator=generator(7), dtype=torch.float64)
    sampled = features(source, samples(600, 2), random_motion(0))["moments"]
    assert 2 * features(source, noisy, random_motion(0))["moments"] < sampled < math.log1p(2)
    turned = random_motion(1).apply(source)
    assert features(source, turned, random_motion(0))["moments"] > 2 * sampled


def test_parts_without_partner_are_seen() -> None:
    whole = samples(600, 2)
    half = whole[whole[:, 2] > whole[:, 2].median()]
    cut = features(samples(600, 1), half, random_motion(0))
    assert cut["overlap"] < 0.8 < features(samples(600, 1), whole, random_motion(0))["overlap"]
    assert cut["tail"] > 3


def test_two_parts_of_an_object_both_lack_a_counterpart_a_thinner_sampling_does_not() -> None:
    source, target = samples(800, 1), samples(800, 2)
    middle = source[:, 2].median()
    lower, upper = source[source[:, 2] < middle + 0.3], target[target[:, 2] > middle - 0.3]
    assert features(lower, upper, random_motion(0))["parts"] > 0.1
    assert features(samples(600, 1), thinned(600, 2), random_motion(0))["parts"] < 0.03
