"""What is drawn of a pair, and where: pure geometry, shared by the report and the live viewer.

Scene coordinates are those of the target's principal frame, with its radius as unit: there the object lies flat in
the middle whatever the files hold, and single precision, which is all that browsers have, is enough.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from deepume.geometry.clouds import centroid, rms_radius, subsample_random
from deepume.geometry.frames import principal_frame
from deepume.geometry.neighbors import k_nearest, nearest
from deepume.transform import RigidTransform

SHOWN_POINTS = 20_000
"""Larger clouds are thinned for display: beyond this, points hide one another and pages grow."""
FAR, NEAR = 8.0, 4.0
"""Clouds farther apart than FAR target radii would be two dots. They are drawn NEAR radii apart; the report says so."""


@dataclass(frozen=True, slots=True)
class Scene:
    """Two clouds ready to be drawn; see the module for the coordinates."""

    source: Float[Tensor, "N 3"]
    """Shown points of the source, as given."""
    target: Float[Tensor, "M 3"]
    """Shown points of the target, as given."""
    whole_target: Float[Tensor, "T 3"]
    """All points of the target: residuals are measured to these."""
    source_size: int
    """Points of the source before thinning."""
    file_from_local: RigidTransform
    """From the source about its own centroid, in scene units, to the source as given."""
    scene_from_target: RigidTransform
    """From the target as given to the scene."""
    floor_distances: Float[Tensor, " F"]
    """From each target point to its nearest neighbor: the least to expect between two samplings of one surface."""

    @property
    def floor(self) -> float:
        """Mean distance expected between two samplings of one surface, in the unit of the target."""
        return max(float(self.floor_distances.mean()), 1e-9 * float(self.file_from_local.scale))

    @property
    def local_source(self) -> Float[Tensor, "N 3"]:
        """Shown points of the source about their centroid, in scene units."""
        return self.file_from_local.inverse().apply(self.source)

    @property
    def scene_target(self) -> Float[Tensor, "M 3"]:
        """Shown points of the target in the scene."""
        return self.scene_from_target.apply(self.target)

    def place(self, target_from_source: RigidTransform) -> RigidTransform:
        """Where a pose puts the local source in the scene."""
        return self.scene_from_target @ target_from_source @ self.file_from_local

    def pose(self, scene_from_local: RigidTransform) -> RigidTransform:
        """The pose that puts the local source there; inverse of :meth:`place`."""
        return self.scene_from_target.inverse() @ scene_from_local @ self.file_from_local.inverse()

    @property
    def distance(self) -> float:
        """Between the centroids of the clouds as given, in target radii."""
        return float(torch.linalg.vector_norm(self._as_given.translation))

    @property
    def start(self) -> RigidTransform:
        """Where the source is drawn before registration: as given, unless that is too far away to be seen."""
        given = self._as_given
        if self.distance <= FAR:
            return given
        return RigidTransform(given.rotation, given.translation * (NEAR / self.distance), given.scale)

    @property
    def _as_given(self) -> RigidTransform:
        return self.place(RigidTransform.identity(self.local_source))

    def residuals(self, target_from_source: RigidTransform) -> Float[Tensor, " N"]:
        """Distance of each shown source point, moved, to the target, in the unit of the target."""
        return nearest(target_from_source.apply(self.source), self.whole_target).distances


def make_scene(source: Float[Tensor, "N 3"], target: Float[Tensor, "M 3"], shown: int = SHOWN_POINTS) -> Scene:
    """The scene of a pair. Points that are not finite are left out, as in its registration."""
    source, target = (_finite(cloud) for cloud in (source, target))
    generator = torch.Generator().manual_seed(0)
    frame, unit = principal_frame(target), rms_radius(target)
    turn = frame.axes.mT
    return Scene(
        source=_thin(source, shown, generator),
        target=_thin(target, shown, generator),
        whole_target=target,
        source_size=len(source),
        file_from_local=RigidTransform(torch.eye(3, dtype=torch.float64), centroid(source), unit),
        scene_from_target=RigidTransform(turn, -(turn @ frame.centroid) / unit, 1 / unit),
        floor_distances=_neighbor_distances(torch.unique(target, dim=0)),
    )


def _finite(cloud: Float[Tensor, "N 3"]) -> Float[Tensor, "K 3"]:
    return cloud[torch.isfinite(cloud).all(-1)].to("cpu", torch.float64)


def _thin(cloud: Float[Tensor, "N 3"], shown: int, generator: torch.Generator) -> Float[Tensor, "K 3"]:
    return cloud if len(cloud) <= shown else subsample_random(cloud, shown, generator=generator)


def _neighbor_distances(cloud: Float[Tensor, "N 3"]) -> Float[Tensor, " N"]:
    return k_nearest(cloud, cloud, 2).distances[..., 1]


def blend(start: RigidTransform, end: RigidTransform, part: float) -> RigidTransform:
    """The motion between two places: 0 gives the start, 1 the end; turned evenly, moved on a line, grown evenly."""
    from scipy.spatial.transform import Rotation  # slow to load, and most commands draw nothing

    turn = Rotation.from_matrix((end.rotation @ start.rotation.mT).numpy())
    rotation = torch.from_numpy(Rotation.from_rotvec(part * turn.as_rotvec()).as_matrix()) @ start.rotation
    translation = torch.lerp(start.translation, end.translation, part)
    return RigidTransform(rotation, translation, start.scale ** (1 - part) * end.scale**part)


def quaternion(rotation: Float[Tensor, "3 3"]) -> Float[np.ndarray, "4"]:
    """The unit quaternion (w, x, y, z) of a rotation."""
    from scipy.spatial.transform import Rotation

    return np.roll(Rotation.from_matrix(rotation.numpy()).as_quat(), 1)
