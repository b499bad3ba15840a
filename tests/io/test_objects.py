"""Whatever holds points gives the same points, and whatever does not says what to pass."""

from __future__ import annotations

import re
import warnings
from types import SimpleNamespace

import numpy as np
import pytest
import torch
import trimesh

from clouds_on_disk import ROWS, assert_same
from deepume import io
from deepume.errors import (
    CloudShapeError,
    CloudValueError,
)


class Legacy:
    def to_legacy(self):
        return SimpleNamespace(points=ROWS)


@pytest.mark.parametrize(
    "cloud",
    [
        ROWS,
        ROWS.astype(">f8"),
        np.asfortranarray(ROWS),
        np.repeat(ROWS, 2, axis=0)[::2],
        ROWS.tolist(),
        tuple(map(tuple, ROWS)),
        list(ROWS),
        list(torch.from_numpy(ROWS)),
        np.ma.masked_invalid(ROWS),
        SimpleNamespace(points=ROWS),
        SimpleNamespace(points=ROWS.tolist(), colors=[]),
        SimpleNamespace(vertices=ROWS),
        SimpleNamespace(vertices=ROWS, triangles=np.empty((0, 3), int)),
        Legacy(),
        trimesh.PointCloud(ROWS),
        torch.from_numpy(ROWS),
    ],
    ids=lambda cloud: type(cloud).__name__,
)
def test_objects_of_every_kind_give_the_same_points(cloud):
    assert_same(io.as_points(cloud), ROWS)


def test_arrays_are_copied_and_read_only_arrays_are_fine():
    frozen = ROWS.copy()
    frozen.flags.writeable = False
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        points = io.as_points(frozen)
    points.zero_()
    assert frozen.all()


@pytest.mark.parametrize(
    ("given_dtype", "dtype"),
    [
        (torch.float64, torch.float64),
        (torch.float32, torch.float32),
        (torch.float16, torch.float32),
        (torch.bfloat16, torch.float32),
        (torch.int32, torch.float64),
        (torch.uint8, torch.float64),
    ],
)
def test_tensors_keep_single_and_double_precision(given_dtype, dtype):
    tensor = torch.ones(5, 3).to(given_dtype)
    points = io.as_points(tensor)
    assert points.dtype == dtype
    assert points is tensor or given_dtype != dtype


def test_integer_arrays_become_double():
    assert_same(io.as_points(np.arange(6, dtype=np.uint8).reshape(2, 3)), np.arange(6.0).reshape(2, 3))


def test_paths_are_read(tmp_path):
    io.write_points(tmp_path / "a.ply", ROWS)
    assert_same(io.as_points(tmp_path / "a.ply"), ROWS)
    assert_same(io.as_points(str(tmp_path / "a.ply")), ROWS)


@pytest.mark.parametrize(
    ("cloud", "message"),
    [
        (
            np.zeros((3, 500)),
            "source must have shape (N, 3), got (3, 500). Columns of points? Pass points.T.",
        ),
        (np.zeros((500, 6)), "got (500, 6). More columns than x, y, z? Pass points[:, :3]."),
        (torch.zeros(500, 6), "got (500, 6). More columns than x, y, z? Pass points[:, :3]."),
        (np.zeros((500, 2)), "got (500, 2). Points in a plane? Add a third column of zeros."),
        (np.zeros((2, 500, 3)), "got (2, 500, 3). A batch? Pass one cloud at a time, or use register_many."),
        (np.zeros((1, 500, 3)), "got (1, 500, 3). A batch of one? Pass points[0]."),
        ([], "got (0,). Pass an (N, 3) array"),
        (3.0, "got (). Pass an (N, 3) array"),
        ([[1, 2, 3], [4, 5]], "got rows of different lengths. Give each point x, y and z."),
        (
            SimpleNamespace(vertices=ROWS, faces=[[0, 1, 1, 0]]),
            "source.faces must have shape (F, 3), got (1, 4).",
        ),
    ],
    ids=str,
)
def test_wrong_shapes_say_what_to_do(cloud, message):
    with pytest.raises(CloudShapeError, match=re.escape(message)):
        io.as_points(cloud)


@pytest.mark.parametrize(
    ("cloud", "message"),
    [
        (None, "target must be a cloud, got NoneType. Pass an (N, 3) array"),
        ({"points": ROWS}, "target must be a cloud, got dict. Pass"),
        (object(), "target must be real numbers, got object. Pass"),
        ([["1", "2", "3"]], "got values of type <U1. Convert them with np.asarray(points, float)."),
        (np.zeros((5, 3), complex), "got values of type complex128. Pass points.real."),
        (np.zeros((5, 3), bool), "got values of type bool. Pass coordinates, not a mask."),
        (np.zeros((5, 3), object), "got values of type object. Pass an (N, 3) array"),
        (np.zeros(5, [("x", float)]), "Stack the fields"),
        (torch.zeros(5, 3, dtype=torch.complex64), "got torch.complex64. Convert it with points.double()."),
        ([torch.zeros(3, requires_grad=True)] * 2, "target must be a cloud, got list."),
        (SimpleNamespace(vertices=ROWS, faces=[[0, 1, 9]]), "faces must name vertices 0 to 1, got 0 to 9."),
    ],
    ids=str,
)
def test_wrong_values_say_what_to_do(cloud, message):
    with pytest.raises(CloudValueError, match=re.escape(message)):
        io.as_points(cloud, name="target")


def test_number_of_samples_must_be_positive():
    with pytest.raises(CloudValueError, match="sample_points must be at least 1, got 0"):
        io.as_points(trimesh.creation.box(), sample_points=0)
