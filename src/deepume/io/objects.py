"""Anything to points: arrays, files, and objects of other libraries, known by what they have, not by what they are."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from deepume.errors import CloudShapeError, CloudValueError
from deepume.io.contents import SAMPLE_POINTS, Geometry, float_rows, merge_scene
from deepume.io.reading import read_points

if TYPE_CHECKING:

    class HasPoints(Protocol):
        """Such as a point cloud of Open3D."""

        @property
        def points(self) -> Any:
            """The points."""

    class HasVertices(Protocol):
        """Such as a mesh of trimesh."""

        @property
        def vertices(self) -> Any:
            """The corners of its faces."""

    CloudLike = np.ndarray | Tensor | Sequence[Sequence[float]] | str | os.PathLike[str] | HasPoints | HasVertices
else:  # what is wrong at run time gets an error that says what to pass
    CloudLike = Any

ACCEPTED = "Pass an (N, 3) array or tensor, an Open3D or trimesh object, or a file path."


def as_points(
    cloud: object, *, name: str = "source", sample_points: int = SAMPLE_POINTS, seed: int = 0
) -> Float[Tensor, "N 3"]:
    """Points from an array, a tensor, nested lists, an Open3D or trimesh object, or a file.

    Doubles, except that a tensor keeps its device and its single or double precision (half becomes single).
    A mesh gives ``sample_points`` points drawn uniformly by area. ``name`` is what errors call the cloud.
    Values are not checked here: they may be infinite or not a number.
    """
    if isinstance(cloud, str | os.PathLike):
        return read_points(cloud, sample_points=sample_points, seed=seed)
    return convert_object(cloud, name=name, sample_points=sample_points, seed=seed)


def convert_object(cloud: Any, *, name: str, sample_points: int = SAMPLE_POINTS, seed: int = 0) -> Float[Tensor, "N 3"]:
    """Points from anything but a path; see :func:`as_points`."""
    if isinstance(cloud, Tensor):
        return _convert_tensor(cloud, name)
    if _has(cloud, "to_legacy"):  # Open3D's tensor classes
        cloud = cloud.to_legacy()
    if _has(cloud, "graph", "geometry"):
        return merge_scene(cloud).points(sample_points, seed)
    for faces in ("faces", "triangles"):
        if _has(cloud, "vertices", faces):
            return _convert_mesh(cloud, faces, name).points(sample_points, seed)
    for attribute in ("points", "vertices"):
        if _has(cloud, attribute):
            cloud = getattr(cloud, attribute)
            break
    return torch.from_numpy(_convert_array(cloud, name))


def _has(cloud: Any, *attributes: str) -> bool:
    """Arrays are taken as they are, whatever attributes their classes add."""
    return not isinstance(cloud, np.ndarray) and all(hasattr(cloud, attribute) for attribute in attributes)


def _convert_tensor(points: Tensor, name: str) -> Float[Tensor, "N 3"]:
    if points.is_complex() or points.dtype == torch.bool:
        raise CloudValueError(f"{name} must be real numbers, got {points.dtype}. Convert it with points.double().")
    _check_shape(tuple(points.shape), name)
    if not points.is_floating_point():
        return points.double()
    return points if points.dtype in (torch.float32, torch.float64) else points.float()


def _convert_mesh(mesh: Any, attribute: str, name: str) -> Geometry:
    faces = np.asarray(getattr(mesh, attribute), np.int64)
    if faces.size and (faces.ndim != 2 or faces.shape[1] != 3):
        raise CloudShapeError(f"{name}.{attribute} must have shape (F, 3), got {faces.shape}. Triangulate the mesh.")
    return Geometry(_convert_array(mesh.vertices, f"{name}.vertices"), faces.reshape(-1, 3))


def _convert_array(cloud: Any, name: str) -> Float[np.ndarray, "N 3"]:
    if cloud is None or isinstance(cloud, dict | set | bytes):
        raise CloudValueError(f"{name} must be a cloud, got {type(cloud).__name__}. {ACCEPTED}")
    try:
        array = np.ma.filled(cloud.astype(float), np.nan) if np.ma.isMaskedArray(cloud) else np.asarray(cloud)
    except ValueError as error:
        raise CloudShapeError(
            f"{name} must have shape (N, 3), got rows of different lengths. Give each point x, y and z."
        ) from error
    except Exception as error:
        raise CloudValueError(f"{name} must be a cloud, got {type(cloud).__name__}. {ACCEPTED}") from error
    if array.dtype.kind not in "fiu":
        raise CloudValueError(f"{name} must be real numbers, got {_name_values(cloud, array)}. {_remedy_values(array)}")
    _check_shape(array.shape, name)
    return float_rows(array)


def _name_values(cloud: Any, array: np.ndarray) -> str:
    return type(cloud).__name__ if array.ndim == 0 else f"values of type {array.dtype}"


def _remedy_values(array: np.ndarray) -> str:
    remedies = {
        "U": "Convert them with np.asarray(points, float).",
        "c": "Pass points.real.",
        "b": "Pass coordinates, not a mask.",
        "V": "Stack the fields: np.stack([points['x'], points['y'], points['z']], -1).",
    }
    return remedies.get(array.dtype.kind, ACCEPTED)


def _check_shape(shape: tuple[int, ...], name: str) -> None:
    if len(shape) != 2 or shape[1] != 3:
        raise CloudShapeError(f"{name} must have shape (N, 3), got {shape}. {_remedy_shape(shape)}")


def _remedy_shape(shape: tuple[int, ...]) -> str:
    match shape:
        case (3, _):
            return "Columns of points? Pass points.T."
        case (_, 2):
            return "Points in a plane? Add a third column of zeros."
        case (_, width) if width > 3:
            return "More columns than x, y, z? Pass points[:, :3]."
        case (1, _, 3):
            return "A batch of one? Pass points[0]."
        case (_, _, 3):
            return "A batch? Pass one cloud at a time, or use register_many."
    return ACCEPTED
