"""The laws that a registration method can promise, ready to be checked on any method and any pair of clouds.

A new method is checked by one line::

    check_method(my_method, source, target, {Claim.PROPER, Claim.ROTATION, Claim.SWAP})

Every check raises :class:`AssertionError` with the worst deviation it saw. Two poses deviate by the farthest that they
put one source point apart, over the root mean square radius of the target: a number without a unit that covers
rotation, translation and scale, wherever the clouds lie. Choose clouds without symmetry: on a symmetric object any of
several poses is right, and which of them a method names may follow from rounding.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import torch
from torch import Tensor

from deepume.geometry.clouds import rms_radius, subsample_random
from deepume.methods.entry import Claim, Method
from deepume.result import Registration
from deepume.transform import RigidTransform, Source, Target, random_rotation

TOLERANCES = {torch.float32: 1e-2, torch.float64: 1e-5}
"""Largest deviation that passes. Far above rounding: a method stops iterating once a step is below some 1e-6."""
PROPER_TOLERANCES = {torch.float32: 1e-5, torch.float64: 1e-12}
"""Largest entry of ``R R^T - I`` and largest ``|det R - 1|`` that pass."""


def check_method(
    method: Method,
    source: Source,
    target: Target,
    claims: Iterable[Claim],
    *,
    tolerance: float | None = None,
    seed: int = 0,
) -> None:
    """Check every claimed law on one pair of clouds; the error lists all laws that are broken.

    ``tolerance`` replaces the entry of :data:`TOLERANCES`. ``seed`` draws the motions and orders of points.
    """
    broken = []
    for claim in sorted(set(claims)):
        try:
            LAWS[claim](method, source, target, tolerance=tolerance, seed=seed)
        except AssertionError as error:
            broken.append(str(error))
    if broken:
        raise AssertionError("\n".join(broken))


def check_proper(
    method: Method, source: Source, target: Target, *, tolerance: float | None = None, seed: int = 0
) -> None:
    """The answer and all its rivals are proper rotations: for this pair, for flattened clouds and for noise.

    ``tolerance`` replaces the entry of :data:`PROPER_TOLERANCES`.
    """
    generator = torch.Generator().manual_seed(seed)
    flat = source.new_tensor([1.0, 1.0, 0.0])
    noise = torch.randn(source.shape, generator=generator, dtype=source.dtype).to(source)
    pairs = {"the pair": (source, target), "flattened clouds": (source * flat, target * flat), "noise": (noise, target)}
    for name, clouds in pairs.items():
        result = method(*clouds)
        poses = [result.target_from_source, *(each.target_from_source for each in result.hypotheses)]
        worst = max(_impropriety(pose.rotation) for pose in poses)
        _require(Claim.PROPER, worst, tolerance or PROPER_TOLERANCES[source.dtype], f"R R^T - I or det R - 1, {name}")


def check_rotation(
    method: Method, source: Source, target: Target, *, tolerance: float | None = None, seed: int = 0
) -> None:
    """Rotating the source or the target about the origin rotates the answer."""
    rotation = random_rotation(generator=torch.Generator().manual_seed(seed)).to(source)
    _check_motion(Claim.ROTATION, RigidTransform(rotation, source.new_zeros(3)), method, source, target, tolerance)


def check_translation(
    method: Method, source: Source, target: Target, *, tolerance: float | None = None, seed: int = 0
) -> None:
    """Translating the source or the target, by a few times its size, translates the answer."""
    generator = torch.Generator().manual_seed(seed)
    step = 3 * float(rms_radius(target).max()) * torch.randn(3, generator=generator, dtype=torch.float64).to(source)
    shift = RigidTransform(torch.eye(3).to(source), step)
    _check_motion(Claim.TRANSLATION, shift, method, source, target, tolerance)


def check_swap(
    method: Method, source: Source, target: Target, *, tolerance: float | None = None, seed: int = 0
) -> None:
    """Swapping the clouds inverts the answer."""
    forward, backward = method(source, target).target_from_source, method(target, source).target_from_source
    _check_same(Claim.SWAP, backward.inverse(), forward, source, target, tolerance, "inverse of the swapped pair")


def check_permutation(
    method: Method, source: Source, target: Target, *, tolerance: float | None = None, seed: int = 0
) -> None:
    """The order of the points, in either cloud, does not matter."""
    generator = torch.Generator().manual_seed(seed)
    mixed = _shuffle(source, generator), _shuffle(target, generator)
    pose, other = method(source, target).target_from_source, method(*mixed).target_from_source
    _check_same(Claim.PERMUTATION, other, pose, source, target, tolerance, "points in another order")


def check_batch(
    method: Method, source: Source, target: Target, *, tolerance: float | None = None, seed: int = 0
) -> None:
    """A batch of two different pairs, with one batch axis and with two, gives what each pair gives on its own."""
    rotation = random_rotation(generator=torch.Generator().manual_seed(seed)).to(source)
    sources, targets = torch.stack([source, source @ rotation.mT]), torch.stack([target, target.flip(-2)])
    flat, nested = method(sources, targets), method(sources.unsqueeze(-3), targets.unsqueeze(-3))
    for k, (moving, fixed) in enumerate(zip(sources, targets, strict=True)):
        single = method(moving, fixed)
        for member in (flat[k], nested[k][0]):
            poses = member.target_from_source, single.target_from_source
            _check_same(Claim.BATCH, *poses, moving, fixed, tolerance, f"member {k} of a batch")
            worst = float((member.score - single.score).abs().max())
            _require(Claim.BATCH, worst, tolerance or TOLERANCES[source.dtype], f"score of member {k} of a batch")


def check_exact(
    method: Method, source: Source, target: Target, *, tolerance: float | None = None, seed: int = 0
) -> None:
    """Clouds that coincide point by point after a motion, in any order, give that motion: for either cloud."""
    generator = torch.Generator().manual_seed(seed)
    for cloud, name in ((source, "source"), (target, "target")):
        rotation = random_rotation(generator=generator).to(cloud)
        step = torch.randn(3, generator=generator, dtype=torch.float64).to(cloud)
        motion = RigidTransform(rotation, float(rms_radius(cloud).max()) * step)
        image = _shuffle(motion.apply(cloud), generator)
        found = method(cloud, image).target_from_source
        _check_same(Claim.EXACT, found, motion, cloud, image, tolerance, f"the {name} against itself, moved")


def check_deterministic(
    method: Method, source: Source, target: Target, *, tolerance: float | None = None, seed: int = 0
) -> None:
    """The same clouds give the same bits: pose, score and every rival; there is no tolerance."""
    first, second = (_numbers(method(source.clone(), target.clone())) for _ in range(2))
    if len(first) != len(second):
        raise AssertionError(f"deterministic: one run has {len(first)} numbers, the next {len(second)}.")

    differ = first != second
    worst = float((first - second)[differ].abs().nan_to_num(torch.inf).max()) if bool(differ.any()) else 0.0
    _require(Claim.DETERMINISTIC, worst, 0.0, "the same call twice")


LAWS: dict[Claim, Callable[..., None]] = {
    Claim.PROPER: check_proper,
    Claim.ROTATION: check_rotation,
    Claim.TRANSLATION: check_translation,
    Claim.SWAP: check_swap,
    Claim.PERMUTATION: check_permutation,
    Claim.BATCH: check_batch,
    Claim.EXACT: check_exact,
    Claim.DETERMINISTIC: check_deterministic,
}
"""The check of each claim."""


def pose_deviation(first: RigidTransform, second: RigidTransform, source: Source, target: Target) -> float:
    """Farthest that two poses put one source point apart, over the root mean square radius of the target."""
    apart = torch.linalg.vector_norm(first.apply(source) - second.apply(source), dim=-1).amax(-1)
    return float((apart / rms_radius(target)).max())


def _check_motion(
    claim: Claim, motion: RigidTransform, method: Method, source: Source, target: Target, tolerance: float | None
) -> None:
    """The answer follows a motion of the source, and a motion of the target."""
    pose = method(source, target).target_from_source
    follows_source = method(motion.apply(source), target).target_from_source @ motion
    _check_same(claim, follows_source, pose, source, target, tolerance, "the source moved")
    image = motion.apply(target)
    follows_target = method(source, image).target_from_source
    _check_same(claim, follows_target, motion @ pose, source, image, tolerance, "the target moved")


def _check_same(
    claim: Claim,
    found: RigidTransform,
    expected: RigidTransform,
    source: Source,
    target: Target,
    tolerance: float | None,
    case: str,
) -> None:
    worst = pose_deviation(found, expected, source, target)
    _require(claim, worst, tolerance or TOLERANCES[source.dtype], case)


def _require(claim: Claim, worst: float, tolerance: float, case: str) -> None:
    if not worst <= tolerance:  # also when it is not a number
        raise AssertionError(f"{claim}: worst deviation {worst:.3g}, at most {tolerance:.3g} allowed ({case}).")


def _impropriety(rotation: Tensor) -> float:
    eye = torch.eye(3, dtype=rotation.dtype, device=rotation.device)
    orthonormal = (rotation @ rotation.mT - eye).abs().max()
    return float(torch.maximum(orthonormal, (torch.linalg.det(rotation) - 1).abs().max()))


def _shuffle(points: Source, generator: torch.Generator) -> Source:
    return subsample_random(points, points.shape[-2], generator=generator)


def _numbers(result: Registration) -> Tensor:
    """Everything a result says about poses, as one row."""
    poses = [(result.target_from_source, result.score)]
    poses += [(each.target_from_source, each.score) for each in result.hypotheses]
    parts = (part for pose, score in poses for part in (pose.rotation, pose.translation, pose.scale, score))
    return torch.cat([part.flatten().double() for part in parts])
