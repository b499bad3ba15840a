"""The covariance says how far the pose may be off."""

import numpy as np
import torch

from deepume import register
from deepume.arrays import Array, namespace
from deepume.datasets import make_shape
from deepume.search.sampling.overlap import OVERLAP
from deepume.search.sampling.relation import Finish
from deepume.transform import RigidTransform, move_covariance, rotation_angle, rotation_from_vector
from framed_pairs import POLICY, as_arrays, frame
from strategies import generator, random_cloud, random_motion, worst

WITHIN = 12.59
"""95 % of the squared distances of six normal variables are below this."""


def perturbation(estimate: RigidTransform, truth: RigidTransform) -> Array:
    """(w, v) with ``truth = (w, v) estimate``, to first order."""
    step = truth @ estimate.inverse()
    skew = (step.rotation - step.rotation.mT) / 2
    xp = namespace(skew)
    w = xp.stack([skew[2, 1], skew[0, 2], skew[1, 0]])
    return xp.concat([w, step.translation])


def test_true_poses_lie_in_the_ellipsoid_as_often_as_it_says() -> None:
    inside, sizes = [], []
    for seed in range(24):
        family = ("body", "chair", "hand", "airplane")[seed % 4]
        shape, motion = make_shape(family, generator=generator(seed)), random_motion(seed)
        source, target = (shape.sample(300, generator=generator(seed + k)) for k in (100, 200))
        if seed % 3 == 0:
            target = source + 0.01 * torch.randn(source.shape, generator=generator(seed), dtype=torch.float64)
        result = register(source, motion.apply(target))
        assert result.covariance is not None
        step = perturbation(result.target_from_source, motion)
        inside.append(float(step @ torch.linalg.solve(result.covariance, step)) < WITHIN)
        sizes.append(float(result.covariance[:3, :3].trace().sqrt() / rotation_angle(rotation_from_vector(step[:3]))))
    assert sum(inside) >= 20
    assert torch.tensor(sizes).median() < 12  # and not by claiming nothing


def test_true_poses_of_parts_lie_in_the_ellipsoid_too() -> None:
    inside = []
    for seed in range(12):
        shape, motion = (
            make_shape(("body", "hand", "quadruped")[seed % 3], generator=generator(seed)),
            random_motion(seed),
        )
        framed = frame(*cut(shape.sample(1600, generator=generator(seed)), motion))
        pair, truth = framed.pair, framed.frame.enter(as_arrays(motion))
        laid = pair.gicp(truth[None], POLICY.overlap.gicp)[0]
        covariance = OVERLAP.covariance(pair, Finish(pair.fit(laid), OVERLAP))
        step = perturbation(laid, truth)
        inside.append(float(step @ np.linalg.solve(covariance, step)) < WITHIN)
    assert sum(inside) >= 10


def cut(cloud: torch.Tensor, motion: RigidTransform) -> tuple[torch.Tensor, torch.Tensor]:
    """Two samplings that lack a quarter of the points each, at opposite ends."""
    source, target = cloud[::2], cloud[1::2]
    lower, upper = source[:, 2].quantile(0.75), target[:, 2].quantile(0.25)
    return source[source[:, 2] < lower], motion.apply(target[target[:, 2] > upper])


def test_noise_beyond_the_spacing_is_not_taken_for_the_distance_to_the_nearest_point() -> None:
    ratios = []
    for seed in range(12):
        shape, motion = (
            make_shape(("body", "hand", "quadruped")[seed % 3], generator=generator(seed)),
            random_motion(seed),
        )
        source = shape.sample(600, generator=generator(seed))
        target = source + 0.05 * torch.randn(source.shape, generator=generator(seed + 50), dtype=torch.float64)
        result = register(source, motion.apply(target))
        assert result.covariance is not None
        step = perturbation(result.target_from_source, motion)
        ratios.append(step @ torch.linalg.solve(result.covariance, step) / 6)
    assert 0.4 < float(torch.stack(ratios).mean()) < 1.6


def test_a_covariance_is_symmetric_and_positive() -> None:
    source = random_cloud(0, 250)
    noisy = source + 0.02 * random_cloud(1, 250)
    covariance = register(source, random_motion(0).apply(noisy)).covariance
    assert covariance is not None
    assert worst(covariance, covariance.mT) < 1e-12
    assert float(torch.linalg.eigvalsh(covariance).min()) > 0


def test_a_covariance_moves_with_the_frame() -> None:
    """A perturbation of the target frame and the same seen from another frame have the same images."""
    root = 1e-3 * torch.randn(6, 6, generator=generator(0), dtype=torch.float64)
    covariance, elsewhere = root @ root.mT, random_motion(2, scaled=True)
    draws = torch.randn(4000, 6, generator=generator(1), dtype=torch.float64) @ torch.linalg.cholesky(covariance).mT
    small = RigidTransform(rotation_from_vector(draws[:, :3]), draws[:, 3:])
    seen = elsewhere[None] @ small @ elsewhere.inverse()[None]
    skew = (seen.rotation - seen.rotation.mT) / 2
    rows = torch.cat([torch.stack([skew[:, 2, 1], skew[:, 0, 2], skew[:, 1, 0]], -1), seen.translation], -1)
    empirical = rows.mT @ rows / len(rows)
    expected = move_covariance(covariance, elsewhere)
    assert worst(empirical, expected) < 0.1 * float(expected.abs().max())


def test_clouds_that_lie_elsewhere_or_are_swapped_have_the_same_shape_of_doubt() -> None:
    source = random_cloud(0, 300)
    target = random_cloud(0, 300) + 0.02 * random_cloud(1, 300)
    near, far = frame(source, target).pair, frame(source + 100, target - 50).pair
    assert worst(near.source.points, far.source.points) < 1e-12
    here = register(source, target).covariance
    there = register(source, target - 50).covariance
    assert here is not None
    assert there is not None
    assert worst(here[:3, :3], there[:3, :3]) < 1e-6 * float(here[:3, :3].abs().max())
    assert there[3:, 3:].trace() > here[3:, 3:].trace()  # a turn about a far origin shifts the object
