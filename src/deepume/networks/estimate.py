"""What the networks share: their answer, pairs, and the checks of their configurations."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from jaxtyping import Float
from torch import Tensor

from deepume.errors import require_known
from deepume.transform import RigidTransform, rigid_motion


class Pair(NamedTuple):
    """One thing for each cloud of a pair."""

    source: Float[Tensor, "*batch N C"]
    target: Float[Tensor, "*batch M C"]

    def move(self, source: Float[Tensor, "*batch N C"], target: Float[Tensor, "*batch M C"]) -> Pair:
        """Both displaced."""
        return Pair(self.source + source.to(self.source), self.target + target.to(self.target))


@dataclass(frozen=True, slots=True)
class Estimate:
    """What a network says of a pair."""

    passes: tuple[RigidTransform, ...]
    """``target_from_source`` after each pass; the last one is the answer."""
    canonical: Pair
    """Both clouds in the common frame, as the last pass saw them."""
    resampled: Pair
    """The same after joint resampling."""
    scores: tuple[Float[Tensor, "*batch"], ...] = ()
    """For each pass, predicted log Chamfer distance of the pose *it started from*, in rms radii of the source."""

    @property
    def target_from_source(self) -> RigidTransform:
        """The answer: ``target ~ target_from_source.apply(source)``."""
        return self.passes[-1]

    @property
    def score(self) -> Float[Tensor, "*batch"] | None:
        """The score of the last pass, lower is better; None for a network without a score head."""
        return self.scores[-1] if self.scores else None


def compose(c_from_b: RigidTransform, b_from_a: RigidTransform) -> RigidTransform:
    """``c_from_b @ b_from_a`` of motions without scale."""
    moved = c_from_b.apply(b_from_a.translation.unsqueeze(-2)).squeeze(-2)
    return rigid_motion(c_from_b.rotation @ b_from_a.rotation, moved)


def detach(motion: RigidTransform) -> RigidTransform:
    """The same motion as a constant."""
    return RigidTransform(motion.rotation.detach(), motion.translation.detach(), motion.scale.detach())


def check_positive(config: object, *names: str) -> None:
    """Raise unless the named settings are whole numbers above zero."""
    for name in names:
        value = getattr(config, name)
        if not isinstance(value, int) or value < 1:
            raise ValueError(f"{type(config).__name__}.{name} must be a whole number above 0, got {value!r}.")


def check_choice(config: object, name: str, choices: type[StrEnum]) -> None:
    """Replace a name read from a file by its enum member; raise if there is none, listing the known ones."""
    value = str(getattr(config, name))
    require_known(name, value, [str(choice) for choice in choices])
    object.__setattr__(config, name, choices(value))
