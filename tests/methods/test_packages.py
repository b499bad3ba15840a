"""Peers that need a package: they run where it is installed, and say what to install where it is not."""

import sys
from importlib.util import find_spec
from types import ModuleType

import pytest
import torch
from torch import Tensor

from deepume.api import find_method, why_unavailable
from deepume.datasets import Law, draw_motion, make_shape
from deepume.datasets.pairs.metrics import rotation_error_deg
from deepume.datasets.pairs.seeds import generator_for
from deepume.errors import CloudValueError, MissingPackageError
from deepume.methods.claims import check_method
from deepume.methods.entry import Claim, MethodEntry
from deepume.methods.packages.fgr import FastGlobal
from deepume.methods.packages.fpfh import load_open3d
from deepume.methods.packages.kiss_matcher import KissMatcher
from deepume.methods.packages.ransac import Ransac
from deepume.methods.table import OPTIONAL
from deepume.transform import RigidTransform


@pytest.mark.parametrize("entry", OPTIONAL, ids=lambda entry: entry.name)
def test_a_missing_package_is_an_install_line(entry: MethodEntry, monkeypatch: pytest.MonkeyPatch) -> None:
    assert entry.package is not None
    monkeypatch.setitem(sys.modules, entry.package, None)
    monkeypatch.setattr("deepume.methods.packages.fpfh.find_spec", lambda name: None)
    cloud = make_shape("hammer", generator=generator_for("hammer")).sample(30, generator=generator_for("points"))
    with pytest.raises(MissingPackageError, match=r'pip install "deepume\[bench\]"'):
        entry.make()(cloud, cloud)


def test_open3d_that_cannot_start_names_the_system_library(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "open3d", None)
    monkeypatch.setattr("deepume.methods.packages.fpfh.find_spec", lambda name: object())
    with pytest.raises(MissingPackageError, match=r"installed but cannot start.*apt-get install libusb-1\.0-0"):
        load_open3d()


def test_the_table_tells_which_packages_are_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("deepume.api.find_spec", lambda name: None)
    assert "deepume[bench]" in str(why_unavailable(find_method("ransac")))
    assert why_unavailable(find_method("pca")) is None


def test_kiss_matcher_is_not_given_a_cloud_that_is_a_point_to_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "kiss_matcher", ModuleType("kiss_matcher"))
    cloud = make_shape("hammer", generator=generator_for("hammer")).sample(60, generator=generator_for("points"))
    with pytest.raises(CloudValueError, match=r"target is 1e-09 times as large.*allow_scale"):
        KissMatcher()(cloud, 1e-9 * cloud)


@pytest.mark.parametrize("entry", OPTIONAL, ids=lambda entry: entry.name)
def test_a_peer_finds_the_pose_in_any_unit_and_keeps_its_claims(entry: MethodEntry) -> None:
    if entry.package is None or find_spec(entry.package) is None:
        pytest.skip(f"{entry.package} is not installed")
    draws = generator_for("hammer")
    shape, motion = make_shape("hammer", generator=draws), draw_motion(Law.HAAR, generator=draws)
    source, target = shape.sample(1024, generator=draws), motion.apply(shape.sample(1000, generator=draws))
    for unit in (1.0, 1000.0):
        found = entry.make()(unit * source, unit * target).target_from_source
        assert rotation_error_deg(found, motion) < 3
    check_method(entry.make(), source[:200], target[:200], entry.claims & {Claim.PROPER, Claim.DETERMINISTIC})


@pytest.mark.parametrize("peer", [Ransac, FastGlobal])
def test_open3d_does_not_print_that_pairs_are_hard(peer: type[Ransac], capfd: pytest.CaptureFixture[str]) -> None:
    if find_spec("open3d") is None:
        pytest.skip("open3d is not installed")
    draws = generator_for("noise")
    for count in range(5, 60, 5):
        source, target = (torch.randn(count, 3, generator=draws, dtype=torch.float64) for _ in range(2))
        peer()(source, target)
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("peer", [Ransac, FastGlobal, KissMatcher])
def test_what_a_peer_finds_goes_to_its_refiner(peer: type[Ransac], monkeypatch: pytest.MonkeyPatch) -> None:
    cloud = make_shape("hammer", generator=generator_for("hammer")).sample(30, generator=generator_for("points"))
    motion = draw_motion(Law.HAAR, 1, generator=generator_for("motion"))
    found = RigidTransform.identity(cloud)
    given: list[RigidTransform] = []

    def refine(source: Tensor, target: Tensor, poses: RigidTransform) -> RigidTransform:
        given.append(poses)
        return motion

    monkeypatch.setattr(peer, "_register", lambda self, source, target: found)
    answer = peer(refiner=refine)(cloud, motion[0].apply(cloud)).target_from_source
    assert torch.allclose(answer.matrix, motion[0].matrix)
    assert torch.allclose(given[0].rotation, found.rotation)
