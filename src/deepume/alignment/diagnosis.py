"""Facts about a pair that explain an answer or a doubt: sizes, units, eigenvalue gaps, densities."""

from __future__ import annotations

import math

import torch
from jaxtyping import Float
from torch import Tensor

from deepume.geometry.frames import eigenvalue_gaps, principal_variances
from deepume.geometry.spacing import point_spacing
from deepume.result import Diagnostics
from deepume.transform import Source, Target, Vectors

PLANAR = 1e-3
"""A cloud is called planar when its thickness is below this part of its width (root mean squares)."""
UNIT_TOLERANCE = 0.15
"""Samplings differ, so a ratio of extents this close to a unit conversion (relative) suggests it."""
LARGE_RATIO = 2.0
"""Extents that differ by more than this deserve a warning even where no unit explains them."""
LARGE_SPACING_RATIO = 3.0
"""Points this many times farther apart, for the size of their cloud, than those of the other deserve a warning."""
CONVERSIONS = {
    10.0: ("centimeters", "millimeters"),
    25.4: ("inches", "millimeters"),
    100.0: ("meters", "centimeters"),
    1000.0: ("meters", "millimeters"),
}


def diagnose_pair(
    source: Source,
    target: Target,
    method: str,
    *,
    allow_scale: bool,
    spacings: Float[Tensor, "2"] | None = None,
) -> Diagnostics:
    """Everything about a pair that is known before registering it; ``spacings`` where they are measured already."""
    variances = principal_variances(source), principal_variances(target)
    ratio = float((variances[1].sum() / variances[0].sum()).sqrt())
    if spacings is None:
        spacings = torch.stack([point_spacing(source), point_spacing(target)])
    spacing = float(spacings[0] / spacings[1].clamp_min(1e-300))
    warnings = [_planar_warning(*each) for each in zip(variances, ("source", "target"), strict=True)]
    warnings += [] if allow_scale else [_extent_warning(ratio)]
    warnings += [_density_warning(spacing * ratio)]
    return Diagnostics(
        source_size=source.shape[-2],
        target_size=target.shape[-2],
        extent_ratio=ratio,
        unit_guess=guess_units(ratio),
        source_eigenvalue_gaps=_gaps(variances[0]),
        target_eigenvalue_gaps=_gaps(variances[1]),
        density_ratio=spacing * (ratio if allow_scale else 1.0),
        method=method,
        warnings=tuple(text for text in warnings if text),
    )


def guess_units(ratio: float) -> str | None:
    """Unit conversion that a ratio of extents (target over source) suggests, if any."""
    for factor, (large, small) in CONVERSIONS.items():
        if abs(math.log(ratio / factor)) < UNIT_TOLERANCE:
            return f"{large} to {small}"
        if abs(math.log(ratio * factor)) < UNIT_TOLERANCE:
            return f"{small} to {large}"
    return None


def _extent_warning(ratio: float) -> str:
    guess = guess_units(ratio)
    size = f"the target is {_times(ratio)} the size of the source"
    if guess is not None:
        return f"{size}, as if units changed from {guess}. Convert one cloud, or pass allow_scale=True (--allow-scale)."
    if abs(math.log(ratio)) > math.log(LARGE_RATIO):
        return f"{size}. If they are one object in different units, pass allow_scale=True (--allow-scale)."
    return ""


def _density_warning(ratio: float) -> str:
    """Of the ratio of point spacings, source over target, each in radii of its own cloud: units do not matter."""
    if abs(math.log(max(ratio, 1e-300))) <= math.log(LARGE_SPACING_RATIO):
        return ""
    sparse, dense = ("source", "target") if ratio > 1 else ("target", "source")
    times = max(ratio, 1 / max(ratio, 1e-300))
    return (
        f"points of the {sparse} are {times:.3g} times as far apart as those of the {dense}: "
        "the pose is as accurate as the sparser cloud allows."
    )


def _times(ratio: float) -> str:
    return f"{ratio:.4g} times" if ratio >= 1 else f"1/{1 / ratio:.4g} of"


def _planar_warning(variances: Vectors, name: str) -> str:
    if float(variances[..., 2]) > PLANAR**2 * float(variances[..., 0]):
        return ""
    return f"the {name} is planar, so only its outline tells which face is up; without one, that is undetermined."


def _gaps(variances: Vectors) -> tuple[float, float]:
    first, second = eigenvalue_gaps(variances).tolist()
    return first, second
