"""One-sided scans of other sets."""

import pytest
import torch

from deepume.datasets import ProceduralSet, open_set
from deepume.datasets.one_sided_scans import ScanSet
from deepume.geometry.clouds import subsample_random
from deepume.search.judgement.cloud_tests import hidden_share
from framed_pairs import POLICY, index
from strategies import generator, random_cloud, worst


class Balls:
    """One ball, again and again."""

    name = "balls"

    def __len__(self) -> int:
        return 3

    def cloud(self, index: int) -> torch.Tensor:
        return torch.nn.functional.normalize(random_cloud(index, 2000), dim=-1)

    def label(self, index: int) -> str:
        return "ball"

    def shape_name(self, index: int) -> str:
        return f"ball-{index}"


def test_a_scan_of_a_ball_is_a_cap_of_it_in_the_unit_sphere() -> None:
    scans = ScanSet(Balls(), "scanned-balls")
    cap = scans.cloud(1)
    assert (len(scans), scans.label(1), scans.shape_name(1)) == (3, "ball", "ball-1")
    assert worst(cap.mean(0), torch.zeros(3)) < 1e-12
    assert float(cap.norm(dim=-1).max()) == pytest.approx(1)
    # On a ball with middle c and radius r, |p|^2 = 2 c.p + (r^2 - |c|^2).
    rows = torch.cat([2 * cap, torch.ones_like(cap[:, :1])], -1)
    solution = torch.linalg.lstsq(rows, cap.square().sum(-1, keepdim=True)).solution.squeeze(-1)
    middle, radius = solution[:3], (solution[3] + solution[:3].square().sum()).sqrt()
    assert worst((cap - middle).norm(dim=-1), radius.expand(len(cap))) < 1e-9
    assert 0.2 < len(cap) / 2000 < 0.5
    assert float(middle.norm() / radius) > 0.5  # the mean of a half is at half the radius


def test_a_scan_is_the_same_every_time_and_others_are_others() -> None:
    train, validation = open_set("scan-train"), open_set("scan-validation")
    assert torch.equal(train.cloud(7), open_set("scan-train").cloud(7))
    assert train.cloud(7).shape != validation.cloud(7).shape
    assert len(train.cloud(7)) >= 2048


def test_a_scan_hides_less_of_itself_than_its_shape_does() -> None:
    whole = ProceduralSet(points=4000, seed=4)
    scans = ScanSet(whole, "some-scans")
    hidden = [
        [
            hidden_share(index(subsample_random(each.cloud(k), 200, generator=generator(k))), POLICY.evidence)
            for k in range(8)
        ]
        for each in (scans, whole)
    ]
    assert sum(hidden[0]) < 0.5 * sum(hidden[1])
