"""FPFH features and the clouds that carry them, by Open3D; all lengths are point spacings, never meters."""

from __future__ import annotations

from contextlib import AbstractContextManager
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from deepume.errors import MissingPackageError
from deepume.geometry.rotation import nearest_rotation
from deepume.geometry.spacing import sampling_distance
from deepume.io.packages import import_package
from deepume.transform import RigidTransform

NORMAL_RADIUS = 4.0
"""Neighborhood of a normal, in point spacings."""
FEATURE_RADIUS = 12.0
"""Neighborhood of a feature, in point spacings."""
MOST_NEIGHBORS = (30, 100)
"""Points that a normal and a feature look at, at most."""


class DescribedPair(NamedTuple):
    """Two clouds of one pair as Open3D sees them."""

    source: Any
    target: Any
    source_features: Any
    target_features: Any
    spacing: float
    """Of the sparser cloud."""


def load_open3d() -> Any:
    """Open3D, or an error that says what to install: its wheel needs a system library besides."""
    try:
        return import_package("open3d", "deepume[bench]")
    except MissingPackageError as error:
        if find_spec("open3d") is None:
            raise
        reason = f"Open3D is installed but cannot start ({error.__cause__})"
        raise MissingPackageError(f"{reason}; on Debian: apt-get install libusb-1.0-0") from error


def silent_open3d() -> AbstractContextManager[Any]:
    """Within it Open3D keeps to itself that a pair has few correspondences: a library does not print."""
    utility = load_open3d().utility
    return utility.VerbosityContextManager(utility.VerbosityLevel.Error)


def describe_pair(source: Float[Tensor, "N 3"], target: Float[Tensor, "M 3"]) -> DescribedPair:
    """Normals and FPFH features of both clouds, with one spacing for the two."""
    spacing = float(torch.maximum(sampling_distance(source), sampling_distance(target)))
    moving, fixed = _to_open3d(source, spacing), _to_open3d(target, spacing)
    return DescribedPair(moving, fixed, _features(moving, spacing), _features(fixed, spacing), spacing)


def _to_open3d(points: Float[Tensor, "N 3"], spacing: float) -> Any:
    open3d = load_open3d()
    cloud = open3d.geometry.PointCloud(open3d.utility.Vector3dVector(points.double().numpy(force=True)))
    cloud.estimate_normals(open3d.geometry.KDTreeSearchParamHybrid(NORMAL_RADIUS * spacing, MOST_NEIGHBORS[0]))
    # Signs of normals are arbitrary; away from the center is a rule that turns with the cloud.
    cloud.orient_normals_towards_camera_location(cloud.get_center())
    cloud.normals = open3d.utility.Vector3dVector(-np.asarray(cloud.normals))
    return cloud


def _features(cloud: Any, spacing: float) -> Any:
    open3d = load_open3d()
    search = open3d.geometry.KDTreeSearchParamHybrid(FEATURE_RADIUS * spacing, MOST_NEIGHBORS[1])
    return open3d.pipelines.registration.compute_fpfh_feature(cloud, search)


def pose_of(result: Any, like: Tensor) -> RigidTransform:
    """The motion that Open3D found, its rotation orthonormal in the precision of the cloud."""
    matrix = torch.as_tensor(result.transformation.copy()).to(like)
    return RigidTransform(nearest_rotation(matrix[:3, :3]), matrix[:3, 3])
