"""The default network without torch: a pass runs in onnxruntime, the closed forms around it in NumPy.

Clouds and poses are float64; the pass itself computes in float32. One thread: the same input gives the same answer,
however many processors there are.
"""

from __future__ import annotations

import json
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from deepume.io.packages import import_package
from deepume.networks.published_files import read_graph

Points = Float[np.ndarray, "*batch N 3"]
Source = Float[np.ndarray, "*batch N 3"]
Target = Float[np.ndarray, "*batch M 3"]
Rotations = Float[np.ndarray, "*batch 3 3"]
Vectors = Float[np.ndarray, "*batch 3"]

SIGN_CHANGES = np.array([np.diag(signs) for signs in ([1, 1, 1], [1, -1, -1], [-1, 1, -1], [-1, -1, 1])], np.float64)
"""The four proper sign patterns of three axes: the identity and the three half turns."""
LARGEST_RATIO = 1e3
"""The unit is at least the radius of the target over this."""
TINY = np.finfo(np.float64).tiny


class Motion(NamedTuple):
    """A motion or a batch of motions: ``target ~ source @ rotation.mT + translation``."""

    rotation: Rotations
    translation: Vectors

    def after(self, first: Motion) -> Motion:
        """``first``, then this one."""
        moved = _turn(self.rotation, first.translation) + self.translation
        return Motion(self.rotation @ first.rotation, moved)


class Answer(NamedTuple):
    """What the network says of a pair."""

    passes: tuple[Motion, ...]
    """Poses after each pass; the last one is the answer."""
    scores: tuple[Float[np.ndarray, "*batch"], ...]
    """For each pass, predicted log Chamfer distance of the pose *it started from*, in rms radii of the source."""

    @property
    def target_from_source(self) -> Motion:
        """The answer."""
        return self.passes[-1]


class OnnxNetwork:
    """A network of the default kind from its exported file; answers as ``DeepUME`` does.

    Rotating, translating or permuting either cloud, or scaling both, changes the answer accordingly and nothing else,
    to single precision and as far as the source's principal frame is determined.
    """

    def __init__(self, contents: bytes):
        runtime = import_package("onnxruntime", "onnxruntime>=1.17")
        options = runtime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.use_deterministic_compute = True
        options.log_severity_level = 3
        self.session = runtime.InferenceSession(contents, options, providers=["CPUExecutionProvider"])
        self.config = json.loads(self.session.get_modelmeta().custom_metadata_map["config"])

    @classmethod
    def published(cls, name: str = "deepume") -> OnnxNetwork:
        """The network in a file of the package, verified."""
        return cls(read_graph(name))

    def __call__(self, source: Source, target: Target, initial: Motion, *, passes: int | None = None) -> Answer:
        """Pose of each pair, improved from ``initial``."""
        poses = Motion(initial.rotation[..., None, :, :], initial.translation[..., None, :])
        answer = self.improve(source, target, poses, passes=passes)
        found = (Motion(pose.rotation[..., 0, :, :], pose.translation[..., 0, :]) for pose in answer.passes)
        return Answer(tuple(found), tuple(score[..., 0] for score in answer.scores))

    def hypotheses(
        self,
        source: Source,
        target: Target,
        exchanges: Float[np.ndarray, "K 3 3"] = SIGN_CHANGES,
        *,
        passes: int | None = None,
    ) -> Answer:
        """Poses ``(*batch, K)`` and their scores from all frames, by default the four proper ones, as one batch."""
        of_source, of_target = (principal_axes(cloud)[..., None, :, :] for cloud in (source, target))
        rotation = of_target @ exchanges @ _transpose(of_source)
        origin, image = (cloud.mean(-2)[..., None, :] for cloud in (source, target))
        return self.improve(source, target, _between(origin, image, rotation), passes=passes)

    def improve(self, source: Source, target: Target, initial: Motion, *, passes: int | None = None) -> Answer:
        """Poses ``(*batch, K)`` and their scores from as many poses of each pair, as one batch."""
        frame = find_common_frame(source, target)
        pose, poses, scores = frame.enter(initial), [], []
        for _ in range(passes or self.config["passes"]):
            motion, score = self._run(frame, pose)
            pose = pose.after(motion)
            poses.append(frame.leave(pose))
            scores.append(score)
        return Answer(tuple(poses), tuple(scores))

    def _run(self, frame: CommonFrame, pose: Motion) -> tuple[Motion, Float[np.ndarray, "*batch K"]]:
        """One pass: the motion that it adds to a pose, and the score of that pose."""
        batch = pose.translation.shape[:-1]
        moved = (frame.target[..., None, :, :] - pose.translation[..., None, :]) @ pose.rotation
        fixed = np.broadcast_to(frame.source[..., None, :, :], (*batch, *frame.source.shape[-2:]))
        inputs = {"source": _flat(fixed), "target": _flat(moved)}
        outputs = self.session.run(["correlation", "source_mean", "target_mean", "score"], inputs)
        matrix, start, end, score = (each.astype(np.float64).reshape(*batch, *each.shape[1:]) for each in outputs)
        return _between(start, end, nearest_rotation(matrix)), score


def _flat(clouds: Points) -> Float[np.ndarray, "B N 3"]:
    return np.ascontiguousarray(clouds.reshape(-1, *clouds.shape[-2:]), np.float32)


class CommonFrame(NamedTuple):
    """Both clouds without their places and sizes, and the way back.

    Poses inside are ``target_from_frame``: they lead from the source's principal frame to the target.
    """

    source: Source
    """In its principal frame, of radius 1."""
    target: Target
    """Centered, in the same unit, its own axes."""
    axes: Rotations
    source_center: Vectors
    target_center: Vectors
    size: Float[np.ndarray, "*batch"]

    def enter(self, target_from_source: Motion) -> Motion:
        """``target_from_frame`` of poses ``(*batch, K)`` between the clouds as they came."""
        rotation, translation = target_from_source
        offset = _turn(rotation, self.source_center[..., None, :]) + translation - self.target_center[..., None, :]
        return Motion(rotation @ self.axes[..., None, :, :], offset / self.size[..., None, None])

    def leave(self, target_from_frame: Motion) -> Motion:
        """The poses between the clouds as they came."""
        rotation = target_from_frame.rotation @ _transpose(self.axes)[..., None, :, :]
        image = self.target_center[..., None, :] + self.size[..., None, None] * target_from_frame.translation
        return _between(self.source_center[..., None, :], image, rotation)


def find_common_frame(source: Source, target: Target) -> CommonFrame:
    """The source's principal frame with its centroid as origin and its radius as unit."""
    axes = principal_axes(source)
    middles = source.mean(-2), target.mean(-2)
    centered = [cloud - middle[..., None, :] for cloud, middle in zip((source, target), middles, strict=True)]
    radii = [np.sqrt(np.square(cloud).sum(-1).mean(-1)) for cloud in centered]
    size = np.maximum(np.maximum(radii[0], radii[1] / LARGEST_RATIO), TINY)
    unit = size[..., None, None]
    return CommonFrame(centered[0] @ axes / unit, centered[1] / unit, axes, *middles, size)


def principal_axes(points: Points) -> Rotations:
    """Principal axes as columns, largest variance first, right-handed; the two most skewed point to their tails."""
    offsets = points - points.mean(-2, keepdims=True)
    axes = np.linalg.eigh(_transpose(offsets) @ offsets / points.shape[-2])[1][..., ::-1]
    local = offsets @ axes
    skewness = (local**3).mean(-2) / np.maximum(np.square(local).mean(-2), TINY) ** 1.5
    axes = axes * np.where(skewness < 0, -1.0, 1.0)[..., None, :]
    least = np.abs(skewness).argmin(-1)[..., None] == np.arange(3)
    handedness = np.sign(np.linalg.det(axes))[..., None]
    return axes * np.where(least, handedness, 1.0)[..., None, :]


def nearest_rotation(matrix: Float[np.ndarray, "*batch 3 3"]) -> Rotations:
    """Proper rotation R that maximizes ``trace(R.mT @ matrix)`` (orthogonal Procrustes)."""
    u, _, vh = np.linalg.svd(matrix)
    signs = np.ones(u.shape[:-1])
    signs[..., -1] = np.sign(np.linalg.det(u @ vh))
    return (u * signs[..., None, :]) @ vh


def _between(
    source: Float[np.ndarray, "*#batch 3"],
    target: Float[np.ndarray, "*#batch 3"],
    rotation: Float[np.ndarray, "*#batch 3 3"],
) -> Motion:
    """The motion with this rotation that carries one point to the other."""
    return Motion(rotation, target - _turn(rotation, source))


def _turn(
    rotation: Float[np.ndarray, "*#batch 3 3"], vector: Float[np.ndarray, "*#batch 3"]
) -> Float[np.ndarray, "*batch 3"]:
    return (rotation @ vector[..., None])[..., 0]


def _transpose(matrix: Float[np.ndarray, "*batch R C"]) -> Float[np.ndarray, "*batch C R"]:
    return np.swapaxes(matrix, -1, -2)
