import sys
from pathlib import Path

import h5py
import numpy as np
import pytest
import torch

from deepume.datasets.catalog import open_set
from deepume.datasets.modelnet40 import Hdf5ModelNet40, Split, open_modelnet40
from deepume.datasets.pairs.keys import Dataset
from deepume.errors import FileFormatError, MissingPackageError
from deepume.geometry.clouds import to_unit_sphere
from deepume.io import write_points


def write_cloud(path: Path, offset: float = 0.0) -> np.ndarray:
    path.parent.mkdir(parents=True, exist_ok=True)
    points = np.random.default_rng(len(path.name)).normal(size=(30, 3)) + offset
    write_points(path, points)
    return points


def test_a_folder_is_read_in_sorted_order(tmp_path: Path) -> None:
    for name in ("b.xyz", "a.ply", "deep/c.npy"):
        write_cloud(tmp_path / name, offset=5)
    (tmp_path / "notes.md").write_text("not a cloud")
    folder = open_set("folder", tmp_path)
    assert isinstance(folder, Dataset)
    assert [folder.shape_name(k) for k in range(len(folder))] == ["a.ply", "b.xyz", "deep/c.npy"]
    assert [folder.label(k) for k in range(3)] == ["a", "b", "deep"]
    cloud = folder.cloud(0)
    assert cloud.mean(0).abs().max() < 1e-12
    assert cloud.norm(dim=-1).max().item() == pytest.approx(1)


def test_faust_scans_are_sorted_and_in_meters_on_request(tmp_path: Path) -> None:
    second, first = write_cloud(tmp_path / "scan_010.ply", 3), write_cloud(tmp_path / "scan_002.ply", 3)
    faust = open_set("faust-meters", tmp_path)
    assert [faust.shape_name(k) for k in range(2)] == ["scan_002.ply", "scan_010.ply"]
    assert np.allclose(faust.cloud(0).numpy(), first)
    assert np.allclose(faust.cloud(1).numpy(), second)
    assert faust.label(0) == "person"
    unit = open_set("faust", tmp_path).cloud(0)
    assert torch.equal(unit, to_unit_sphere(faust.cloud(0)))


def test_stanford_scans_are_labeled_by_object(tmp_path: Path) -> None:
    write_cloud(tmp_path / "dragon_stand" / "dragonStandRight_0.ply")
    stanford = open_set("stanford", tmp_path)
    assert stanford.label(0) == "dragon"
    assert stanford.cloud(0).norm(dim=-1).max().item() == pytest.approx(1)


def write_hdf5(folder: Path) -> np.ndarray:
    data = np.random.default_rng(0).uniform(-0.5, 0.5, (5, 40, 3)).astype(np.float32)
    parts = {"ply_data_train1.h5": (data[:2], [[1], [0]]), "ply_data_train0.h5": (data[2:], [[2], [1], [0]])}
    for name, (points, labels) in parts.items():
        with h5py.File(folder / name, "w") as file:
            file["data"], file["label"] = points, np.array(labels, dtype=np.uint8)
    listed = "".join(f"data/modelnet40_ply_hdf5_2048/{name}\n" for name in parts)
    (folder / "train_files.txt").write_text(listed)
    (folder / "shape_names.txt").write_text("airplane\nbathtub\nbed\n")
    return data


def test_hdf5_follows_the_order_of_its_list(tmp_path: Path) -> None:
    data = write_hdf5(tmp_path)
    train = open_set("modelnet40-train", tmp_path)
    assert isinstance(train, Hdf5ModelNet40)
    assert len(train) == 5
    for index in range(5):
        assert np.array_equal(train.cloud(index).numpy(), data[index].astype(np.float64))
    assert [train.label(k) for k in range(5)] == ["bathtub", "airplane", "bed", "bathtub", "airplane"]
    assert train.shape_name(2) == "bed_00002"


def test_hdf5_without_its_files_or_its_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_hdf5(tmp_path)
    monkeypatch.setitem(sys.modules, "h5py", None)
    with pytest.raises(MissingPackageError, match=r"pip install \"deepume\[modelnet\]\""):
        open_modelnet40(tmp_path, Split.TRAIN).cloud(0)
    (tmp_path / "ply_data_train0.h5").unlink()
    with pytest.raises(FileFormatError, match=r"ply_data_train0.h5 is missing.*shapenet"):
        open_modelnet40(tmp_path, Split.TRAIN)


def test_text_form_follows_its_list(tmp_path: Path) -> None:
    (tmp_path / "modelnet40_test.txt").write_text("night_stand_0002\nbed_0001\n")
    rows = np.random.default_rng(0).normal(size=(2, 30, 6))
    for name, values in zip(("night_stand/night_stand_0002", "bed/bed_0001"), rows, strict=True):
        (tmp_path / name).parent.mkdir()
        np.savetxt(tmp_path / f"{name}.txt", values, delimiter=",")
    test = open_set("modelnet40-test", tmp_path)
    assert [test.label(k) for k in range(len(test))] == ["night_stand", "bed"]
    assert test.shape_name(0) == "night_stand_0002"
    expected = to_unit_sphere(torch.from_numpy(rows[1, :, :3]))
    assert torch.allclose(test.cloud(1), expected, atol=1e-9)


def test_modelnet40_in_neither_form(tmp_path: Path) -> None:
    with pytest.raises(FileFormatError, match=r"test_files.txt.*modelnet40_test.txt.*shapenet"):
        open_set("modelnet40-test", tmp_path)
