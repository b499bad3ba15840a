"""What the loop needs to know of a method: how to build it, its loss, and how it estimates a pose."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from deepume.training.pairs.pair_maker import Pairs
from deepume.training.recipes.recipe import Recipe
from deepume.transform import Rotations, Source, Target, Vectors


class Losses(NamedTuple):
    """Loss of a batch."""

    total: Tensor
    """What is minimized."""
    parts: dict[str, Tensor]
    """Its terms and other numbers for the log, without gradient."""


class Motion(NamedTuple):
    """An estimate: ``target ~ source @ rotation.mT + translation``."""

    rotation: Rotations
    translation: Vectors


Objective = Callable[[nn.Module, Pairs, Recipe, torch.Generator], Losses]


@dataclass(frozen=True, slots=True)
class Trainable:
    """A method that the loop can train."""

    build: Callable[[Any], nn.Module]
    """Network of a configuration, with random weights."""
    objective: Objective
    """Loss of a batch."""
    estimate: Callable[[nn.Module, Source, Target], Motion]
    """The method's answer, without refinement, for validation."""
    uses_symmetry: bool = False
    """True if the loss needs to know which starts lie near a correct alignment; finding them takes time at first."""


def estimate_once(network: nn.Module, source: Source, target: Target) -> Motion:
    """The network's answer."""
    pose = network(source, target).target_from_source
    return Motion(pose.rotation, pose.translation)
