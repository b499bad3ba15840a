"""The default network without torch: a pass runs in onnxruntime, the closed forms around it in NumPy.

Clouds and poses are float64; the pass itself computes in float32. One thread: the same input gives the same answer,
however many processors there are.
"""

from __future__ import annotations

import json
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from deepume.geometry.frames import frame_poses, principal_frame, sign_changes
from deepume.io.packages import import_package
from deepume.networks.estimate import CommonFrame, Fit, compose
from deepume.networks.published_files import read_graph
from deepume.transform import Points, RigidTransform, Source, Target


class Answer(NamedTuple):
    """What the network says of a pair."""

    passes: tuple[RigidTransform, ...]
    """Poses after each pass; the last one is the answer."""
    scores: tuple[Float[np.ndarray, "*batch"], ...]
    """For each pass, predicted log Chamfer distance of the pose *it started from*, in rms radii of the source."""

    @property
    def target_from_source(self) -> RigidTransform:
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

    def __call__(self, source: Source, target: Target, initial: RigidTransform, *, passes: int | None = None) -> Answer:
        """Pose of each pair, improved from ``initial``."""
        answer = self.improve(source, target, initial[..., None], passes=passes)
        found = tuple(pose[..., 0] for pose in answer.passes)
        return Answer(found, tuple(score[..., 0] for score in answer.scores))

    def hypotheses(
        self,
        source: Source,
        target: Target,
        exchanges: Float[np.ndarray, "K 3 3"] | None = None,
        *,
        passes: int | None = None,
    ) -> Answer:
        """Poses ``(*batch, K)`` and their scores from all frames, by default the four proper ones, as one batch."""
        frames = sign_changes() if exchanges is None else exchanges
        poses = frame_poses(principal_frame(source), principal_frame(target), frames)
        return self.improve(source, target, poses, passes=passes)

    def improve(self, source: Source, target: Target, initial: RigidTransform, *, passes: int | None = None) -> Answer:
        """Poses ``(*batch, K)`` and their scores from as many poses of each pair, as one batch."""
        frame = CommonFrame.around(source, target).repeat(initial.rotation.shape[-3])
        pose, poses, scores = frame.enter(initial), [], []
        for _ in range(passes or self.config["passes"]):
            motion, score = self._run(frame, pose)
            pose = compose(pose, motion)
            poses.append(frame.leave(pose))
            scores.append(score)
        return Answer(tuple(poses), tuple(scores))

    def _run(self, frame: CommonFrame, pose: RigidTransform) -> tuple[RigidTransform, Float[np.ndarray, "*batch K"]]:
        """One pass: the motion that it adds to a pose, and the score of that pose."""
        batch, canonical = pose.translation.shape[:-1], frame.clouds(pose)
        inputs = {"source": _flat(canonical.source), "target": _flat(canonical.target)}
        outputs = self.session.run(["correlation", "source_mean", "target_mean", "score"], inputs)
        matrix, start, end, score = (each.astype(np.float64).reshape(*batch, *each.shape[1:]) for each in outputs)
        return Fit(matrix, start, end).motion(), score


def _flat(clouds: Points) -> Float[np.ndarray, "B N 3"]:
    return np.ascontiguousarray(clouds.reshape(-1, *clouds.shape[-2:]), np.float32)
