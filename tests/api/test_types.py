"""A type checker catches what would be an error at run time: `make check` fails if it no longer does."""

# pyright: reportUnnecessaryTypeIgnoreComment=true

import re
from pathlib import Path

import numpy as np
import pytest
import torch

import deepume
from deepume import DeepumeError
from deepume.search.policy import Effort
from strategies import random_cloud

CLOUD = random_cloud(0, 30)


def test_a_typo_is_an_error_for_the_checker_and_at_run_time() -> None:
    with pytest.raises(DeepumeError, match="Did you mean 'fast'"):
        deepume.register(CLOUD, CLOUD, effort="fsat")  # pyright: ignore[reportArgumentType]
    with pytest.raises(DeepumeError, match="Unknown method 'gicp'"):
        deepume.register(CLOUD, CLOUD, method="gicp")  # pyright: ignore[reportArgumentType]
    with pytest.raises(DeepumeError, match="source must"):
        deepume.register(3, CLOUD)  # pyright: ignore[reportArgumentType]
    with pytest.raises(DeepumeError, match="target must"):
        deepume.register(CLOUD, object())  # pyright: ignore[reportArgumentType]


def test_what_is_right_passes_both(tmp_path: Path) -> None:
    points = CLOUD.numpy()
    np.save(tmp_path / "cloud.npy", points)
    for cloud in (CLOUD, points, points.tolist(), tmp_path / "cloud.npy", str(tmp_path / "cloud.npy")):
        assert float(deepume.register(cloud, CLOUD, method="pca", refine=False).score) < 1e-6
    assert float(deepume.register(points, points, effort=Effort.FAST).score) < 1e-6


def test_every_method_has_a_type() -> None:
    text = Path(deepume.__file__).with_name("api.py").read_text()
    listed = re.search(r"MethodName = Literal\[(.*?)\]", text, re.DOTALL)
    assert listed
    assert re.findall(r'"([^"]+)"', listed[1]) == deepume.list_methods()


def test_arrays_give_arrays_and_tensors_give_tensors(tmp_path: Path) -> None:
    points = CLOUD.numpy()
    np.save(tmp_path / "cloud.npy", points)
    for cloud, kind in ((points, np.ndarray), (points.tolist(), np.ndarray), (tmp_path / "cloud.npy", np.ndarray)):
        for method in ("auto", "pca"):
            result = deepume.register(cloud, CLOUD, method=method)
            pose, matrix = result.target_from_source, result.target_from_source.matrix
            assert isinstance(matrix, kind)
            assert matrix.dtype == np.float64
            assert np.array_equal(np.asarray(pose), matrix)
            assert isinstance(pose.apply(points), np.ndarray)
            assert np.abs(pose.apply(points) - points).max() < 1e-6
            assert isinstance(result.residuals, np.ndarray)
    assert isinstance(deepume.register(CLOUD, points).target_from_source.matrix, torch.Tensor)
