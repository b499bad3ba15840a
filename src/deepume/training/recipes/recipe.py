"""A recipe: everything that decides a training run but the machine it runs on."""

from __future__ import annotations

import ast
from dataclasses import asdict, dataclass, field, fields, is_dataclass, replace
from enum import StrEnum
from typing import Any

from deepume.datasets.pairs.laws import Law
from deepume.datasets.pairs.scenarios import Scenario
from deepume.errors import DeepumeError, require_known
from deepume.training.recipes.learning_rate import Schedule


class RecipeError(DeepumeError):
    """A recipe asks for something that cannot be trained."""


class Optimizer(StrEnum):
    """How weight decay enters."""

    ADAM = "adam"
    """Decay added to the gradient, as the paper's code does."""
    ADAMW = "adamw"
    """Decay separate from the gradient."""


class Precision(StrEnum):
    """Arithmetic of the network; closed-form parts and losses are always float32."""

    FLOAT32 = "float32"
    BFLOAT16 = "bfloat16"
    """Matrix products in bfloat16 (autocast), weights and optimizer in float32."""


class LossDistance(StrEnum):
    """Which norm the Chamfer loss takes of the offsets between nearest points."""

    SQUARED = "squared"
    """Squared, as in the paper's code."""
    PLAIN = "plain"
    """Un-squared, as in the paper's text: a stray point weighs less."""
    LOG = "log"
    """Logarithm of the un-squared distance: a pair whose frames failed pulls no harder than one that nearly fits."""


@dataclass(frozen=True, slots=True)
class ShapeSource:
    """A set of shapes and how often it is drawn from."""

    set: str
    """``open``, ``research``, ``modelnet40`` (packs in the data folder) or ``procedural`` (made on the spot)."""
    weight: float = 1.0
    """Share of the pairs, relative to the other sets; within a set every shape weighs alike, or as ``downweight``."""
    size: int = 1024
    """Number of shapes, for ``procedural`` only."""

    def __post_init__(self) -> None:
        """Refuse sets that are not for training."""
        require_known("training set", self.set, list(TRAINING_SETS))
        _require(self.weight > 0, f"set {self.set!r} has weight {self.weight}; leave it out instead")


TRAINING_SETS = ("open", "research", "modelnet40", "procedural")
"""Sets a recipe may name. Test sets are not among them."""
NEAR_SYMMETRIC = (("ldraw", 0.25), ("menagerie", 0.35), ("robosuite_metaworld", 0.35), ("bullet3", 0.5))
"""Collections of robot links and building bricks, often near-symmetric, and their weight per shape."""


@dataclass(frozen=True, slots=True)
class ValidationPlan:
    """What is measured on held-out training shapes, and how often."""

    every: float = 0.1
    """Share of the run between two validations; one more is made at the end."""
    pairs: int = 256
    """Pairs for each scenario."""
    points: int = 1024
    """Points of each cloud."""
    scenarios: tuple[Scenario, ...] = (Scenario.ZERO, Scenario.GAUSSIAN)
    """Scenarios, each measured on its own."""

    def __post_init__(self) -> None:
        """Refuse plans that measure nothing."""
        _require(0 < self.every <= 1, f"validation every {self.every} of the run; give a share in (0, 1]")
        _require(self.pairs > 0 and self.points >= 16, "validation needs pairs of at least 16 points")


@dataclass(frozen=True, slots=True)
class Recipe:
    """One training run; the weights file and the log store it whole."""

    name: str
    """Name in the table of recipes, and of the weights file."""
    method: str
    """Method that is trained: decides network and loss."""
    config: Any
    """Configuration of the network: the dataclass that its constructor takes."""
    shapes: tuple[ShapeSource, ...]
    """Sets of shapes; 5 % of each, by name, are held out for validation."""
    downweight: tuple[tuple[str, float], ...] = NEAR_SYMMETRIC
    """Weight per shape of collections, by the ``source`` column of a pack; others weigh 1."""
    stretch: float = 0.0
    """Every shape drawn is made shorter along a random axis, by a share of up to this: few shapes look like many."""
    scenarios: tuple[tuple[Scenario, float], ...] = ((Scenario.ZERO, 1.0),)
    """Scenarios and their shares; drawn for each pair."""
    law: Law = Law.HAAR
    """How the true rotation is drawn."""
    points: tuple[tuple[int, float], ...] = ((1024, 1.0),)
    """Sizes of the clouds and their shares; drawn once for a batch."""
    unequal: float = 0.0
    """Share of the batches in which the target's size is drawn on its own."""
    batch: int = 256
    """Pairs in a step when the clouds are of the largest size."""
    max_batch: int = 256
    """Pairs in a step at most: steps of smaller clouds take more pairs, as many as keep the number of points."""
    optimizer: Optimizer = Optimizer.ADAMW
    """Kind of optimizer."""
    learning_rate: float = 1e-3
    """Peak learning rate."""
    schedule: Schedule = Schedule.COSINE
    """How it falls."""
    weight_decay: float = 1e-4
    """Weight decay."""
    ema: float = 0.0
    """Decay per step of the moving average of the weights that is validated and saved; 0 saves the weights."""
    clip: float = 1.0
    """Largest norm of the gradient; longer ones are shortened to it."""
    loss_distance: LossDistance = LossDistance.SQUARED
    """Norm of the Chamfer loss."""
    loss_points: int = 0
    """If not 0, the loss compares this many other points of the shape instead of the clouds the network saw."""
    loss_shared: float = 0.0
    """Share of those points that both clouds of the loss hold. Where they do, d_C falls to a point at the true pose."""
    passes: int = 0
    """Passes in a training step, where the network makes several; 0: as many as its configuration says."""
    score_weight: float = 0.1
    """Weight of the regression of the score head, where the network has one."""
    score_points: int = 512
    """Points of the dense clouds whose Chamfer distance the score head regresses."""
    precision: Precision = Precision.BFLOAT16
    """Arithmetic of the network."""
    start: str = ""
    """Weights of the same configuration to go on from, by name (``deepume``) or path; none: random ones."""
    steps: int = 2000
    """Length of the run, unless a budget in seconds is given at the start."""
    seed: int = 0
    """Seed of the weights and of all draws."""
    validation: ValidationPlan = field(default_factory=ValidationPlan)
    """Validation on held-out training shapes."""

    def __post_init__(self) -> None:
        """Refuse recipes that cannot run, with the remedy."""
        _require(is_dataclass(self.config), "config must be the dataclass of the network's settings")
        _require(len(self.shapes) > 0, "a recipe needs at least one set of shapes")
        _require_shares("scenarios", self.scenarios)
        _require_shares("points", self.points)
        unknown = [scenario.value for scenario, _ in self.scenarios if scenario not in TRAINABLE_SCENARIOS]
        _require(not unknown, f"no training pairs are made for {unknown}; use {[s.value for s in TRAINABLE_SCENARIOS]}")
        smallest, largest = min(size for size, _ in self.points), max(size for size, _ in self.points)
        _require(smallest >= 16 and largest <= 1024, "cloud sizes must lie in 16..1024: shapes have 2,048 points")
        _require(2 <= self.batch <= self.max_batch, f"need 2 <= batch <= max_batch, got {self.batch}, {self.max_batch}")
        _require(0 <= self.stretch < 1, f"stretch is a share below 1, got {self.stretch}")
        _require(0 <= self.unequal <= 1, f"unequal is a share, got {self.unequal}")
        _require(self.learning_rate > 0 and self.weight_decay >= 0, "rates must not be negative")
        _require(0 <= self.ema < 1, f"ema must lie in [0, 1), got {self.ema}")
        _require(self.clip > 0, f"clip must be positive, got {self.clip}")
        _require(
            0 <= self.loss_points <= 1024 and 16 <= self.score_points <= 1024, "dense clouds have up to 1024 points"
        )
        _require(0 <= self.loss_shared <= 1, f"loss_shared is a share, got {self.loss_shared}")
        _require(self.steps > 0, f"steps must be positive, got {self.steps}")

    def batch_at(self, size: int) -> int:
        """Pairs in a step whose larger cloud has ``size`` points."""
        largest = max(points for points, _ in self.points)
        return min(self.max_batch, self.batch * largest // size)

    def as_dict(self) -> dict[str, Any]:
        """All fields as plain values, ready for JSON."""
        return asdict(self) | {"config": {"type": type(self.config).__name__, **asdict(self.config)}}


TRAINABLE_SCENARIOS = (
    Scenario.NOISE_FREE,
    Scenario.ZERO,
    Scenario.GAUSSIAN,
    Scenario.ZERO_NOISE,
    Scenario.DENSITY,
    Scenario.OUTLIERS,
    Scenario.OVERLAP,
    Scenario.PAPER_TRAINING,
)
"""Scenarios that :mod:`deepume.training.pairs.pair_maker` makes in batches. Unequal sizes stand for Bernoulli."""


def parse_change(text: str) -> tuple[str, Any]:
    """A field and its value from ``FIELD=VALUE``, as on a command line; the value is a Python literal or text."""
    name, equals, value = text.partition("=")
    if not equals:
        raise RecipeError(f"Expected FIELD=VALUE, such as batch=128 or config.passes=3; got {text!r}.")
    try:
        return name, ast.literal_eval(value)
    except (ValueError, SyntaxError):
        return name, value


def override(recipe: Recipe, changes: dict[str, Any]) -> Recipe:
    """The recipe with some fields replaced; ``config.NAME`` and ``validation.NAME`` reach inside.

    All changes are made at once, so that fields that depend on one another can change together.
    """
    values: dict[str, Any] = {}
    for path, value in changes.items():
        head, _, rest = path.partition(".")
        old = values.get(head, _field(recipe, head, "recipe field"))
        if rest:
            values[head] = replace(old, **{rest: _converted(_field(old, rest, f"field of {head}"), value)})
        else:
            values[head] = _converted(old, value)
    return replace(recipe, **values)


def _field(holder: Any, name: str, kind: str) -> Any:
    require_known(kind, name, [item.name for item in fields(holder)])
    return getattr(holder, name)


def _converted(old: Any, value: Any) -> Any:
    """The value in the type of the one it replaces: an enum by its name, a set of shapes by its fields."""
    if isinstance(old, StrEnum):
        require_known(type(old).__name__, str(value), [member.value for member in type(old)])
        return type(old)(str(value))
    if isinstance(old, tuple) and old and isinstance(old[0], ShapeSource):
        return tuple(ShapeSource(*item) for item in value)
    if isinstance(old, tuple) and old and isinstance(old[0], tuple) and isinstance(old[0][0], Scenario):
        return tuple((_converted(Scenario.ZERO, name), float(share)) for name, share in value)
    if isinstance(old, tuple) and old and isinstance(old[0], Scenario):
        return tuple(_converted(Scenario.ZERO, name) for name in value)
    return float(value) if isinstance(old, float) and isinstance(value, int) else value


def _require_shares(name: str, shares: tuple[tuple[Any, float], ...]) -> None:
    _require(len(shares) > 0, f"{name} is empty")
    _require(all(share > 0 for _, share in shares), f"{name} has a share that is not positive; leave that entry out")


def _require(holds: bool, remedy: str) -> None:
    if not holds:
        raise RecipeError(f"Recipe: {remedy}.")
