"""All shapes of a run as one tensor on the device, with the weight and the symmetry of each."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from deepume.datasets.corpus import STEPS, is_validation
from deepume.datasets.procedural import ProceduralSet
from deepume.errors import FileFormatError
from deepume.geometry.chamfer import rank_by_chamfer
from deepume.geometry.frames import axis_exchanges, principal_frame
from deepume.training.recipes.recipe import Recipe, ShapeSource
from deepume.transform import Rotations

POINTS = 2048
"""Points of every shape."""
SYMMETRY_POINTS = 512
"""Points of each half that decide whether a turn of a shape leaves it as it is."""
SYMMETRY_RATIO = 1.2
"""A turn that raises the squared Chamfer distance between two halves by no more than this is a symmetry."""


@dataclass(frozen=True, slots=True)
class ShapeBank:
    """Shapes on a device. Points stay int16: half the memory of float32, and exact."""

    points: Int[Tensor, "S N 3"]
    """``points / STEPS`` are coordinates in the unit sphere, in random order."""
    cumulative: Float[Tensor, " S"]
    """Running sum of the weights, ending at 1: a uniform draw finds its shape by bisection."""
    turns: Float[Tensor, "S 24 3 3"]
    """The 24 exchanges of the principal axes of each shape, the identity first, as rotations of the shape."""
    symmetric: Bool[Tensor, "S 24"]
    """Which of them leave the shape as it is, to sampling noise."""
    names: tuple[str, ...]
    """Names of the sets and how many shapes of each there are."""

    def __len__(self) -> int:
        return len(self.points)

    def draw(self, count: int, *, generator: torch.Generator) -> Int[Tensor, " count"]:
        """Positions of shapes, drawn by weight with replacement; the host does not wait."""
        unit = torch.rand(count, generator=generator, device=generator.device)
        return torch.searchsorted(self.cumulative, unit).clamp_max(len(self) - 1)

    def coordinates(self, rows: Int[Tensor, " B"]) -> Float[Tensor, "B N 3"]:
        """Points of the shapes at ``rows``, float32."""
        return self.points[rows].float() / STEPS


@dataclass(frozen=True, slots=True)
class Banks:
    """Shapes to train on, and shapes to validate on: no shape is in both."""

    training: ShapeBank
    validation: ShapeBank


@dataclass(frozen=True, slots=True)
class _Shapes:
    """Shapes of one set, on the host."""

    points: np.ndarray
    names: list[str]
    weights: np.ndarray


def load_banks(recipe: Recipe, folder: Path | None, device: torch.device, *, with_symmetry: bool = True) -> Banks:
    """Read the recipe's sets, hold 5 % of each out by name, and put both parts on the device.

    Without symmetry, only the true pose of a shape counts as correct.
    """
    sets = {source.set: _read(source, recipe, folder) for source in recipe.shapes}
    shares = {source.set: source.weight for source in recipe.shapes}
    training, validation = (_bank(sets, shares, held_out=held_out) for held_out in (False, True))
    return Banks(training.to(device, with_symmetry), validation.to(device, with_symmetry=False))


def _read(source: ShapeSource, recipe: Recipe, folder: Path | None) -> _Shapes:
    if source.set == "procedural":
        return _make_procedural(source.size)
    if folder is None:
        raise FileFormatError(f"Set {source.set!r} is read from packs: name their folder with --data.")
    return _read_packs(source.set, folder, dict(recipe.downweight))


_PACKS = {"open": "train_open_*.npz", "research": "train_research.npz", "modelnet40": "modelnet40.npz"}


def _read_packs(name: str, folder: Path, downweight: dict[str, float]) -> _Shapes:
    """All packs of a set that are in the folder. Fewer shards than published are fewer shapes, not an error."""
    paths = sorted(folder.glob(_PACKS[name]))
    if not paths:
        raise FileFormatError(f"No {_PACKS[name]} in {folder}: set {name!r} needs it. Name another folder with --data.")
    points, names, weights = [], [], []
    for path in paths:
        with np.load(path) as pack:
            chosen = pack["split"] == "train" if "split" in pack.files else np.ones(len(pack["names"]), bool)
            points.append(pack["points"][chosen])
            names += [str(text) for text in pack["names"][chosen]]
            collections = pack["source"][chosen] if "source" in pack.files else np.full(chosen.sum(), "")
            weights.append(np.array([downweight.get(str(text), 1.0) for text in collections]))
    return _Shapes(np.concatenate(points), names, np.concatenate(weights))


def _make_procedural(size: int) -> _Shapes:
    shapes = ProceduralSet(size=size, points=POINTS)
    clouds = [(shapes.cloud(index).clamp(-1, 1) * STEPS).round().to(torch.int16) for index in range(size)]
    names = [shapes.shape_name(index) for index in range(size)]
    return _Shapes(torch.stack(clouds).numpy(), names, np.ones(size))


def _bank(sets: dict[str, _Shapes], shares: dict[str, float], *, held_out: bool) -> _Chosen:
    points, weights, names = [], [], []
    for name, shapes in sets.items():
        chosen = np.array([is_validation(text) == held_out for text in shapes.names])
        if not chosen.any():
            continue
        points.append(shapes.points[chosen])
        own = shapes.weights[chosen]
        weights.append(shares[name] * own / own.sum())
        names.append(f"{name}: {chosen.sum()}")
    if not points:
        raise FileFormatError("No shape is left for validation: 5 % are held out by name, so a set needs about 100.")
    return _Chosen(np.concatenate(points), np.concatenate(weights), tuple(names))


@dataclass(frozen=True, slots=True)
class _Chosen:
    """Shapes of all sets on one side of the split, on the host."""

    points: np.ndarray
    weights: np.ndarray
    names: tuple[str, ...]

    def to(self, device: torch.device, with_symmetry: bool) -> ShapeBank:
        points = torch.from_numpy(self.points).to(device)
        cumulative = torch.from_numpy(self.weights.cumsum() / self.weights.sum()).float().to(device)
        turns, symmetric = find_symmetry(points) if with_symmetry else assume_no_symmetry(points)
        return ShapeBank(points, cumulative, turns, symmetric, self.names)


def assume_no_symmetry(points: Int[Tensor, "S N 3"]) -> tuple[Float[Tensor, "S 24 3 3"], Bool[Tensor, "S 24"]]:
    """No turn but the identity."""
    symmetric = torch.zeros(len(points), 24, dtype=torch.bool, device=points.device)
    symmetric[:, 0] = True
    return torch.eye(3, device=points.device).expand(len(points), 24, 3, 3), symmetric


@torch.no_grad()
def find_symmetry(
    points: Int[Tensor, "S N 3"], block: int = 32
) -> tuple[Float[Tensor, "S 24 3 3"], Bool[Tensor, "S 24"]]:
    """The 24 exchanges of each shape's principal axes as rotations, and which are symmetries of it.

    Made once for a run: it tells which starts lie near *a* correct alignment. Rotations of finer order than 90
    degrees are not looked for: 75 degrees about each of these cover them.
    """
    exchanges = torch.from_numpy(axis_exchanges()).float().to(points.device)
    found = [_symmetry_of_block(part.float() / STEPS, exchanges) for part in points.split(block)]
    return torch.cat([turns for turns, _ in found]), torch.cat([symmetric for _, symmetric in found])


def _symmetry_of_block(points: Float[Tensor, "S N 3"], exchanges: Rotations) -> tuple[Tensor, Tensor]:
    axes = principal_frame(points).axes.unsqueeze(-3)
    turns = axes @ exchanges @ axes.mT
    centered = points - points.mean(-2, keepdim=True)
    first, second = centered[:, :SYMMETRY_POINTS], centered[:, -SYMMETRY_POINTS:]
    fit = torch.stack([rank_by_chamfer(first @ turn.mT, second) for turn in turns.unbind(-3)], -1)
    symmetric = fit <= SYMMETRY_RATIO * fit[:, :1]
    return turns, symmetric
