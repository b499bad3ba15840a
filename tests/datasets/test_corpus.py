from pathlib import Path

import numpy as np
import pytest
import torch

from deepume.datasets.catalog import SetName, open_set
from deepume.datasets.corpus import PackSet, is_validation, object_of
from deepume.datasets.pairs.keys import PairKey, make_pair
from deepume.datasets.pairs.laws import Law
from deepume.datasets.pairs.scenarios import Scenario
from deepume.errors import FileFormatError, UnknownNameError


def clouds(count: int, points: int = 64, seed: int = 0) -> np.ndarray:
    unit = np.random.default_rng(seed).uniform(-0.55, 0.55, (count, points, 3))
    return np.round(unit * 32767).astype(np.int16)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Small packs in the layout of the real ones."""
    for shard in range(3):
        names = np.array([f"shard{shard}/shape{k}.glb" for k in range(100)])
        labels = np.array([f"class{k % 4}" for k in range(100)])
        source = np.full(100, "somewhere")
        np.savez_compressed(
            tmp_path / f"train_open_{shard}.npz",
            points=clouds(100, seed=shard), names=names, labels=labels, source=source,
        )  # fmt: skip
    names, labels = np.array([f"class/m{k}.ply" for k in range(5)]), np.array(["class"] * 5)
    np.savez(tmp_path / "train_research.npz", points=clouds(5), names=names, labels=labels, source=labels)
    split = np.array(["train", "test", "train", "test", "train"])
    np.savez(tmp_path / "modelnet40.npz", points=clouds(5), names=names, labels=labels, split=split)
    scans = np.array(["ArmadilloBack_0", "dragonStandRight_0", "bun000"])
    undo = {"center": np.arange(9.0).reshape(3, 3), "scale": np.array([0.1, 0.2, 0.3])}
    np.savez(tmp_path / "stanford.npz", points=clouds(3), names=scans, count=np.ones(3, int), **undo)
    people = clouds(1, points=100)[0]
    offsets, names = np.array([0, 20, 50, 100]), np.array(["scan_000", "scan_001", "scan_002"])
    np.savez(tmp_path / "faust.npz", points=people, offsets=offsets, names=names, **undo)
    return tmp_path


def test_points_are_int16_over_32767(folder: Path) -> None:
    research = open_set("research", folder)
    expected = torch.from_numpy(clouds(5)[3].astype(np.float64) / 32767)
    assert torch.equal(research.cloud(3), expected)
    assert research.name == "research"
    assert research.label(3) == "class"
    assert research.shape_name(3) == "class/m3.ply"


def test_training_and_validation_divide_the_open_shapes(folder: Path) -> None:
    train, validation = open_set("open-train", folder), open_set("open-validation", folder)
    names = [{s.shape_name(k) for k in range(len(s))} for s in (train, validation)]
    assert not names[0] & names[1]
    assert len(names[0] | names[1]) == 300
    assert all(is_validation(name) for name in names[1])


def test_validation_is_five_percent_and_depends_only_on_the_name() -> None:
    names = [f"some/shape_{k}.obj" for k in range(20_000)]
    held = [name for name in names if is_validation(name)]
    assert len(held) / 20_000 == pytest.approx(0.05, abs=0.005)
    assert held == [name for name in names if is_validation(name)]


def test_modelnet40_splits_are_the_official_ones(folder: Path) -> None:
    assert len(open_set("modelnet40-train", folder)) == 3
    test = open_set("modelnet40-test", folder)
    assert [test.shape_name(k) for k in range(len(test))] == ["class/m1.ply", "class/m3.ply"]
    assert test.name == "modelnet40-test"


def test_scans_of_different_sizes_are_cut_at_their_offsets(folder: Path) -> None:
    faust = open_set("faust", folder)
    assert [len(faust.cloud(k)) for k in range(3)] == [20, 30, 50]
    assert faust.label(0) == "person"


def test_faust_in_meters_undoes_the_unit_sphere(folder: Path) -> None:
    unit, meters = open_set("faust", folder), open_set("faust-meters", folder)
    expected = unit.cloud(1) * 0.2 + torch.tensor([3.0, 4, 5], dtype=torch.float64)
    assert torch.equal(meters.cloud(1), expected)


def test_stanford_scans_are_labeled_by_object(folder: Path) -> None:
    stanford = open_set("stanford", folder)
    assert [stanford.label(k) for k in range(3)] == ["armadillo", "dragon", "bun"]
    assert object_of("drill_1.6mm_0_cyb") == "drill"


def test_one_tensor_holds_every_cloud_for_training(folder: Path) -> None:
    research = PackSet("research", [folder / "train_research.npz"])
    tensor = research.as_tensor()
    assert tensor.shape == (5, 64, 3)
    assert tensor.dtype == torch.float32
    assert (tensor[2].double() - research.cloud(2)).abs().max() < 1e-6
    with pytest.raises(FileFormatError, match="differ in size"):
        PackSet("faust", [folder / "faust.npz"]).as_tensor()


def test_pairs_of_a_pack(folder: Path) -> None:
    key = PairKey("stanford", Scenario.ZERO, Law.HAAR, 32, 1)
    pair = make_pair(open_set("stanford", folder), key)
    assert pair.source.shape == pair.target.shape == (32, 3)
    assert pair.name == "dragonStandRight_0"


MADE_ON_THE_SPOT = (SetName.PROCEDURAL, SetName.SCAN_TRAIN, SetName.SCAN_VALIDATION)


@pytest.mark.parametrize("name", [n for n in SetName if n not in MADE_ON_THE_SPOT])
def test_a_missing_set_says_what_was_expected_where(name: SetName, tmp_path: Path) -> None:
    with pytest.raises(FileFormatError, match=str(tmp_path)):
        open_set(name, tmp_path)
    with pytest.raises(FileFormatError, match="name its folder"):
        open_set(name)


def test_unknown_sets_and_broken_packs(folder: Path) -> None:
    with pytest.raises(UnknownNameError, match="Did you mean 'stanford'"):
        open_set("standford", folder)
    np.savez(folder / "train_research.npz", other=np.zeros(3))
    with pytest.raises(FileFormatError, match="no array 'names'"):
        len(open_set("research", folder))
