"""Whatever comes: an error of ours or a proper rotation."""

import math
import time

import numpy as np
import pytest
import torch
from torch import Tensor

from deepume import DeepumeError, Registration, register
from deepume.arrays import to_doubles
from deepume.transform import random_rotation
from ready_methods import READY
from sampled_pairs import FLAT
from strategies import generator, random_cloud, worst


def broken_cloud(seed: int) -> object:
    """A degenerate, damaged or merely odd cloud."""
    draws = generator(seed)

    def draw(count: int) -> int:
        return int(torch.randint(count, (), generator=draws))

    n = [0, 2, 3, 4, 5, 9, 10, 11, 30, 80, 150, 199, 200, 230][draw(14)]
    points = torch.randn(n, 3, generator=draws, dtype=torch.float64)
    shapes = [
        lambda: points,
        lambda: points * FLAT,
        lambda: points * FLAT.roll(1) * FLAT,
        lambda: points[:1].expand(n, 3),
        lambda: points[torch.randint(n, (n,), generator=draws) // 4] if n else points,
        lambda: points.round(),
        lambda: points / points.norm(dim=-1, keepdim=True),
        lambda: points * torch.tensor([1.0, 1.0, 1e-9]),
        lambda: points * torch.tensor([1.0, 1e-5, 1e-6]),
        lambda: points.sign(),
        lambda: points**9,
        lambda: points.float(),
        lambda: (9 * points).long(),
        lambda: points.numpy(),
        lambda: points.tolist(),
        lambda: torch.cat([points, points + 1e-12]),
        lambda: torch.cat([points, 1e6 * points[:1]]),
        lambda: [points[:, : draw(4)], points.mT, points.expand(2, n, 3)][draw(3)],
        lambda: [None, "no such file.ply", 5, {}, [[1, 2, 3], [4, 5]]][draw(5)],
    ]
    cloud = shapes[draw(len(shapes))]()
    if isinstance(cloud, Tensor) and cloud.is_floating_point() and cloud.numel():
        cloud = cloud * [1.0, 1e-6, 1e6, 1e-100, 1e100, 1e300, 1e-300][max(0, draw(14) - 7)]
        cloud = cloud + [0.0, 1e3, 1e9, 1e15][max(0, draw(12) - 8)]
        cloud = cloud.contiguous().clone()
        if draw(8) == 0:
            cloud.view(-1)[:: 1 + draw(30)] = [torch.nan, torch.inf, -torch.inf][draw(3)]
    return cloud


def check_broken_pair(seed: int) -> bool:
    """True if the pair was answered; any exception but ours fails the test."""
    draws = generator(seed)
    names, choice = READY, torch.randint(1 << 30, (5,), generator=draws).tolist()
    method = names[choice[0] % len(names)] if choice[0] % 3 else "auto"
    source = broken_cloud(2 * seed)
    target = source if choice[4] % 4 == 0 else broken_cloud(2 * seed + 1)
    start = time.perf_counter()
    try:
        result = register(
            source,  # pyright: ignore[reportArgumentType]
            target,  # pyright: ignore[reportArgumentType]
            method=method,
            refine=bool(choice[1] % 2),
            allow_scale=choice[2] % 3 == 0,
            drop_invalid=choice[3] % 3 == 0,
        )
    except DeepumeError:
        return False
    finally:
        assert time.perf_counter() - start < 30
    for pose in (result.target_from_source, *(each.target_from_source for each in result.hypotheses)):
        assert np.isfinite(pose.numpy()).all()
        rotation = to_doubles(pose.rotation)
        assert worst(rotation @ rotation.T, np.eye(3)) < 1e-9
        assert abs(np.linalg.det(rotation) - 1) < 1e-9
    assert math.isfinite(result.score)
    assert result.explain()
    Registration.from_json(result.to_json())
    return True


def test_broken_pairs_give_an_error_of_ours_or_a_proper_rotation(capfd: pytest.CaptureFixture[str]) -> None:
    answered = sum(check_broken_pair(seed) for seed in range(200))
    assert 20 < answered < 180
    assert capfd.readouterr() == ("", "")


@pytest.mark.slow
def test_a_thousand_broken_pairs(capfd: pytest.CaptureFixture[str]) -> None:
    answered = sum(check_broken_pair(seed) for seed in range(200, 1200))
    assert 100 < answered < 900
    assert capfd.readouterr() == ("", "")


def test_mirror_images_are_never_matched_by_a_mirror() -> None:
    source = random_cloud(0, 250)
    mirrored = source * torch.tensor([-1.0, 1.0, 1.0], dtype=torch.float64) @ random_rotation(generator=generator(0)).mT
    result = register(source, mirrored)
    assert float(torch.linalg.det(result.target_from_source.rotation)) == pytest.approx(1)
    assert result.score > 0.3
