r"""Go-ICP (Yang, Li and Jia 2013): the closest-point registration that no other motion beats, by branch and bound.

Written from the published description; no code of the authors is used (theirs is under the GPL).

A box of motions is a cube of rotation vectors and a cube of translations. Within it a point x lies no farther than
:math:`\gamma = 2 \sin(\min(\sqrt3 \sigma, \pi) / 2) |x| + \sqrt3 \tau` from where the middle of the box puts it, for
half-sides :math:`\sigma, \tau`. So no motion of the box has a mean squared distance below that of max(d - gamma, 0).
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, fields, replace
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from deepume.alignment.nearest_points import IcpSettings, refine_icp
from deepume.alignment.ranking import rank_hypotheses
from deepume.geometry.clouds import subsample_farthest
from deepume.geometry.distance_field import DistanceField
from deepume.geometry.neighbors import nearest
from deepume.geometry.spacing import sampling_distance
from deepume.geometry.unit_sphere import to_unit_pair
from deepume.result import Registration
from deepume.transform import RigidTransform, Source, Target, rotation_from_vector

LOCAL_ICP = IcpSettings(iterations=30, two_sided=False, tolerance=1e-5)


@dataclass(frozen=True, slots=True)
class GoIcp:
    """Best-first search over boxes of motions; ICP from every box that beats the best motion so far.

    Optimal for the mean squared distance of the thinned source to the target, to within ``gap``: any motion that good
    may be the answer. A search that runs out of time returns the best it has, marked ``ambiguous``: another motion may
    fit better.

    Differs from the original: one queue over rotations and translations together, instead of a search in a search.
    """

    points: int = 64
    """Source points, evenly spread, whose distances are counted."""
    reach: float = 0.2
    """Translations of the centroid that are searched, either way along each axis, in radii of the pair."""
    gap: float = 1.5
    """Stops when no box can be better by more than this, in squared point spacings."""
    seconds: float = 5.0
    """Time for one pair."""
    resolution: int = 64
    """Nodes along each side of the grid in which distances are looked up."""
    parents: int = 256
    """Boxes divided at a time."""

    def __call__(self, source: Source, target: Target) -> Registration:
        """The best motion, refined on the whole clouds. Loops over the batch."""
        pair = to_unit_pair(source, target)
        flat = (cloud.reshape(-1, *cloud.shape[-2:]) for cloud in (pair.source, pair.target))
        found = [self.search(*clouds) for clouds in zip(*flat, strict=True)]
        batch = source.shape[:-2]
        rotation = torch.stack([each.pose.rotation for each in found]).reshape(*batch, 3, 3)
        translation = torch.stack([each.pose.translation for each in found]).reshape(*batch, 3)
        pose = pair.restore(RigidTransform(rotation, translation))
        result = rank_hypotheses(source, target, refine_icp(source, target, pose[..., None]))
        closed = torch.tensor([each.closed for each in found], device=source.device).reshape(batch)
        return replace(result, ambiguous=result.ambiguous | ~closed)

    def search(self, source: Float[Tensor, "N 3"], target: Float[Tensor, "M 3"]) -> Search:
        """Branch and bound on one unit pair."""
        end = time.monotonic() + self.seconds
        few = subsample_farthest(source, self.points)
        field = DistanceField.of(target, 1 + 3**0.5 * self.reach, self.resolution)
        gap = self.gap * float(sampling_distance(target)) ** 2
        start = RigidTransform.identity(source)
        best = _Incumbent(start, math.inf).challenge(start, few, target)
        boxes = Boxes.everything(self.reach, source)
        while len(boxes) and time.monotonic() < end:
            parents, boxes = boxes.take_lowest(self.parents)
            children = parents.divide()
            errors, bounds = box_errors(children, few, field)
            if float(errors.min()) < best.error:
                best = best.challenge(children.motions()[errors.argmin()], few, target)
            boxes = boxes.join(replace(children, bounds=bounds)).below(best.error - gap)
        return Search(best.pose, best.error, closed=not len(boxes))


class Search(NamedTuple):
    """Where a search ended."""

    pose: RigidTransform
    error: float
    """Mean squared distance of the thinned source to the target."""
    closed: bool
    """Whether no other motion can be better by more than the gap."""


@dataclass(frozen=True, slots=True)
class _Incumbent:
    """The best motion so far."""

    pose: RigidTransform
    error: float

    def challenge(self, start: RigidTransform, source: Tensor, target: Tensor) -> _Incumbent:
        """The better of this motion and of ICP from another start."""
        pose = refine_icp(source, target, start[None], LOCAL_ICP)[0]
        error = float(nearest(pose.apply(source), target).distances.square().mean())
        return _Incumbent(pose, error) if error < self.error else self


@dataclass(frozen=True, slots=True)
class Boxes:
    """Boxes of motions: middles and half-sides of the two cubes, and a lower bound of the error within."""

    vectors: Float[Tensor, "B 3"]
    """Rotation vectors."""
    sigma: Float[Tensor, " B"]
    shifts: Float[Tensor, "B 3"]
    tau: Float[Tensor, " B"]
    bounds: Float[Tensor, " B"]

    @classmethod
    def everything(cls, reach: float, like: Tensor) -> Boxes:
        """One box of all rotations and of all translations within reach."""
        zeros = like.new_zeros(1, 3)
        return cls(zeros, like.new_full((1,), math.pi), zeros, like.new_full((1,), reach), like.new_zeros(1))

    def __len__(self) -> int:
        return len(self.sigma)

    def __getitem__(self, rows: Tensor) -> Boxes:
        """Some of the boxes."""
        return Boxes(*(getattr(self, each.name)[rows] for each in fields(self)))

    def motions(self) -> RigidTransform:
        """The middle of each box."""
        return RigidTransform(rotation_from_vector(self.vectors), self.shifts)

    def take_lowest(self, count: int) -> tuple[Boxes, Boxes]:
        """The boxes of lowest bound, and the others."""
        order = self.bounds.argsort(stable=True)
        return self[order[:count]], self[order[count:]]

    def divide(self) -> Boxes:
        """Eight parts of each box: of the cube that leaves more uncertain. Those beyond half a turn are left out."""
        turns = (rotation_reach(self.sigma) >= 3**0.5 * self.tau).unsqueeze(-1)
        corners = torch.cartesian_prod(*[self.sigma.new_tensor([-0.5, 0.5])] * 3)
        vectors = self.vectors[:, None] + corners * (self.sigma[:, None] * turns)[..., None]
        shifts = self.shifts[:, None] + corners * (self.tau[:, None] * ~turns)[..., None]
        sigma = torch.where(turns, self.sigma[:, None] / 2, self.sigma[:, None]).expand(-1, 8)
        tau = torch.where(turns, self.tau[:, None], self.tau[:, None] / 2).expand(-1, 8)
        bounds = self.bounds[:, None].expand(-1, 8)
        parts = Boxes(*(part.flatten(0, 1) for part in (vectors, sigma, shifts, tau, bounds)))
        return parts[torch.linalg.vector_norm(parts.vectors, dim=-1) - 3**0.5 * parts.sigma <= math.pi]

    def join(self, others: Boxes) -> Boxes:
        """Both lists."""
        return Boxes(*(torch.cat([getattr(self, each.name), getattr(others, each.name)]) for each in fields(self)))

    def below(self, limit: float) -> Boxes:
        """Boxes that may hold a motion better than the limit."""
        return self[self.bounds < limit]


def rotation_reach(sigma: Float[Tensor, " B"]) -> Float[Tensor, " B"]:
    """Farthest that a point at distance 1 lies from where the middle of a cube of rotation vectors puts it."""
    return 2 * torch.sin((3**0.5 * sigma).clamp_max(math.pi) / 2)


def box_errors(boxes: Boxes, source: Float[Tensor, "N 3"], field: DistanceField) -> tuple[Tensor, Tensor]:
    """Mean squared distance at the middle of each box, and a lower bound of it over the whole box."""
    distances = field(boxes.motions().apply(source))
    radii = torch.linalg.vector_norm(source, dim=-1)
    spread = rotation_reach(boxes.sigma)[:, None] * radii + 3**0.5 * boxes.tau[:, None]
    within = (distances - spread - field.slack).clamp_min(0)
    return distances.square().mean(-1), within.square().mean(-1)
