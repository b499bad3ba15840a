"""Pairs as the search sees them, for the tests of its parts."""

import numpy as np
from torch import Tensor

from deepume.arrays import to_doubles
from deepume.geometry.searchable import IndexedCloud
from deepume.search.pair import CloudPair, FramedPair, frame_pair
from deepume.search.policy import POLICIES, Effort
from deepume.transform import RigidTransform

POLICY = POLICIES[Effort.AUTO]


def index(points: Tensor) -> IndexedCloud:
    """A cloud with its tree."""
    return IndexedCloud(to_doubles(points), POLICY.density_neighbors)


def frame(source: Tensor, target: Tensor, effort: Effort = Effort.AUTO) -> FramedPair:
    """Both clouds in the frame of the search."""
    return frame_pair(source, target, POLICIES[effort])


def move_and_frame(source: Tensor, target: Tensor, motion: RigidTransform) -> tuple[CloudPair, RigidTransform]:
    """The pair whose target was moved, and its true pose."""
    framed = frame(source, motion.apply(target))
    return framed.pair, framed.frame.enter(as_arrays(motion))


def as_arrays(motion: RigidTransform) -> RigidTransform:
    """The same motion for NumPy, as the search has it."""
    return motion.to(np.zeros(1))
