"""The features that confidence is computed from say what they are named after."""

import math

import pytest
import torch
from torch import Tensor

from deepume.datasets import make_shape
from deepume.datasets.pairs.occlusion import find_visible
from deepume.search.judgement.evidence import FEATURES, describe_fit
from deepume.transform import RigidTransform
from framed_pairs import POLICY, move_and_frame
from strategies import generator, random_motion


def features(source: Tensor, target: Tensor, motion: RigidTransform) -> dict[str, float]:
    """The features of the true pose."""
    pair, truth = move_and_frame(source, target, motion)
    values = describe_fit(pair, pair.fit(truth), 0.5)
    return dict(zip(FEATURES, values.tolist(), strict=True))


def samples(n: int, seed: int) -> Tensor:
    return make_shape("chair", generator=generator(3)).sample(n, generator=generator(seed))


def thinned(n: int, seed: int) -> Tensor:
    """Points that become rare towards one end."""
    points = samples(8 * n, seed)
    kept = torch.rand(len(points), generator=generator(seed), dtype=torch.float64)
    height = points[:, 2] - points[:, 2].mean()
    return points[kept < torch.sigmoid(4 * height / height.std())][:n]


@pytest.mark.parametrize("count", [300, 120])
def test_features_do_not_depend_on_who_is_called_source_nor_on_the_frame(count: int) -> None:
    source, target, motion = samples(count, 1), thinned(count - 20, 2), random_motion(0)
    one = features(source, target, motion)
    turned = features(source, target, random_motion(5))
    swapped = features(motion.apply(target), motion.apply(source), motion.inverse())
    for name in FEATURES:
        assert abs(one[name] - turned[name]) < 1e-6
        assert abs(one[name] - swapped[name]) < 1e-6


def test_two_samplings_of_a_shape_are_samples_of_one_thing_a_sampling_and_a_part_are_not() -> None:
    whole = samples(600, 2)
    half = whole[whole[:, 2] > whole[:, 2].median()]
    assert abs(features(samples(600, 1), whole, random_motion(0))["sample_gap"]) < math.log1p(4)
    assert features(samples(600, 1), half, random_motion(0))["sample_gap"] > math.log1p(10)


def test_of_a_whole_and_a_part_the_part_fits_better() -> None:
    whole = samples(600, 2)
    cut = features(samples(600, 1), whole[whole[:, 2] > whole[:, 2].median()], random_motion(0))
    assert cut["better"] < 1 < cut["score"]


def test_two_parts_of_an_object_both_have_a_cluster_without_counterpart_a_thinner_sampling_has_not() -> None:
    source, target = samples(800, 1), samples(800, 2)
    middle = source[:, 2].median()
    lower, upper = source[source[:, 2] < middle + 0.3], target[target[:, 2] > middle - 0.3]
    parts, thin = features(lower, upper, random_motion(0)), features(samples(600, 1), thinned(600, 2), random_motion(0))
    assert parts["unmatched"] > 2 * thin["unmatched"]
    assert parts["clustered"] > 2 * thin["clustered"]
    assert thin["better"] < 1 < parts["better"]


def test_wrong_poses_leave_points_off_the_surface_and_normals_askew() -> None:
    source, target, motion = samples(600, 1), samples(600, 2), random_motion(0)
    right, wrong = features(source, target, motion), features(source, random_motion(1).apply(target), motion)
    assert wrong["off_surface"] > 2 * right["off_surface"]
    assert wrong["normals"] < right["normals"] - 0.1


def test_the_network_judges_sparse_clouds_only_and_tells_right_from_wrong() -> None:
    source, target, motion = samples(120, 1), samples(120, 2), random_motion(0)
    right, wrong = features(source, target, motion), features(source, random_motion(1).apply(target), motion)
    assert right["network"] < wrong["network"] - 1
    assert features(samples(300, 1), samples(300, 2), motion)["network"] == 0


def test_a_view_hides_less_of_an_object_than_a_whole_does() -> None:
    first, second = (make_shape("bottle", generator=generator(3)).sample(600, generator=generator(k)) for k in (1, 2))
    seen = second[find_visible(second, second.mean(0) + torch.tensor([3.0, 4.0, 2.0], dtype=torch.float64))]
    both, one = features(first, second, random_motion(0)), features(first, seen, random_motion(0))
    assert one["hidden"] < both["hidden"] / 2
    assert one["hidden_more"] == pytest.approx(both["hidden_more"], abs=0.1)


def test_a_lead_is_a_feature_up_to_a_limit() -> None:
    pair, truth = move_and_frame(samples(300, 1), samples(300, 2), RigidTransform.identity(samples(1, 1)))
    for lead, stated in ((0.25, 0.25), (torch.inf, POLICY.evidence.most_lead)):
        assert float(describe_fit(pair, pair.fit(truth), lead)[FEATURES.index("lead")]) == stated
