"""The functions that users call."""

from __future__ import annotations

from dataclasses import replace
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np
import torch
from torch import Tensor

from deepume.alignment.diagnosis import diagnose_pair
from deepume.errors import CloudShapeError, CloudValueError, DeepumeError, DeviceError, unknown_name
from deepume.geometry.clouds import check_cloud, subsample_random
from deepume.geometry.neighbors import nearest
from deepume.geometry.rotation import nearest_rotation
from deepume.io.objects import CloudLike, as_points
from deepume.methods.auto import AUTO
from deepume.methods.entry import Method, MethodEntry
from deepume.methods.learned import LEARNED
from deepume.methods.running import Settings, Stopwatch, register_pair, to_kind
from deepume.methods.table import BASELINES, NETWORKS, OPTIONAL
from deepume.networks.weights_files import why_missing
from deepume.result import Registration
from deepume.search.policy import Effort
from deepume.transform import RigidTransform

if TYPE_CHECKING:
    EffortName = Effort | Literal["fast", "auto", "thorough"]
    MethodName = Literal[
        "auto", "identity", "pca", "ume", "ume-3", "icp", "frames-icp", "frames-gicp", "grid-icp", "grid-icp-576",
        "goicp", "fgr", "ransac", "kiss-matcher", "pointnetlk", "pointnetlk-60", "dcp-v1", "dcp-v1-60", "dcp", "dcp-60",
        "deepgmr", "deepgmr-60", "rgm", "rgm-60", "deepume-paper", "deepume", "deepume-small",
    ]  # fmt: skip
else:  # what is wrong at run time gets an error that lists the known names
    EffortName = MethodName = str

METHODS = (AUTO, *BASELINES, *OPTIONAL, *NETWORKS, *LEARNED)
"""The only list of methods."""
DEFAULT_METHOD: Final = "auto"
MOST_POINTS = 20_000
"""Larger clouds are thinned to this many points, drawn with the seed: more points do not make a pose more exact."""
POSE_TOLERANCE = 1e-3
"""Entries of an initial pose may be off by this: written down with four digits, not more wrong."""


def register(
    source: CloudLike,
    target: CloudLike,
    *,
    method: MethodName = DEFAULT_METHOD,
    effort: EffortName = Effort.AUTO,
    time_limit: float | int | None = None,
    refine: bool = True,
    initial: Any = None,
    allow_scale: bool = False,
    drop_invalid: bool = False,
    seed: int = 0,
    device: str | torch.device | None = None,
) -> Registration:
    """Find the rigid motion that carries the source onto the target.

    Args:
        source: The cloud that moves: array, tensor, list, Open3D or trimesh object, or the path of a file.
        target: The cloud that stays; sizes, densities and order of points may differ.
        method: A name from :func:`list_methods`.
        effort: How far the default method searches: ``"auto"``, until one pose is beyond doubt; ``"fast"``, four
            hypotheses and no more; ``"thorough"``, everything it knows.
        time_limit: Seconds after which the default method begins no further stage of its search. The stage at hand
            and the last refinement are finished.
        refine: Refine the method's answer; ``False`` gives the method on its own.
        initial: A pose (4 x 4 or :class:`RigidTransform`) that joins the hypotheses; the best one wins.
        allow_scale: Estimate a similarity, for clouds of unknown or different units.
        drop_invalid: Leave out points with NaN or infinite coordinates instead of raising an error.
        seed: For everything drawn at random: sampling of meshes, thinning of large clouds.
        device: Where to compute; the device of the source if it is a tensor, else the CPU.

    Returns:
        The pose with what is known about it, in float64; see :class:`Registration`. In NumPy arrays, or in tensors if
        the source is one.
    """
    entry, watch = find_method(method), Stopwatch()
    with watch.stage("read"):
        moving, fixed = as_points(source, name="source", seed=seed), as_points(target, name="target", seed=seed)
        place = _find_device(device, moving)
        moving, fixed = _prepare(moving, "source", drop_invalid, place), _prepare(fixed, "target", drop_invalid, place)
        pose = _as_transform(initial, moving, allow_scale)
        settings = Settings(
            refine, pose, allow_scale, _check_effort(entry, effort, time_limit), time_limit and float(time_limit)
        )
        generator = torch.Generator().manual_seed(seed)
        few, few_fixed = _thin(moving, generator), _thin(fixed, generator)
    result = register_pair(few, few_fixed, entry, settings, watch)
    with watch.stage("residuals"):
        residuals = result.residuals
        if residuals is None or few is not moving or few_fixed is not fixed:
            residuals = nearest(result.target_from_source.apply(moving), fixed).distances
    diagnostics = diagnose_pair(few, few_fixed, entry.name, allow_scale=allow_scale, spacings=result.spacings)
    sizes = replace(diagnostics, source_size=len(moving), target_size=len(fixed), seconds=watch.seconds)
    result = replace(result, residuals=residuals, diagnostics=sizes)
    return result if isinstance(source, Tensor) else to_kind(result, np.zeros(1))


def list_methods() -> list[str]:
    """Names that :func:`register` and :func:`get_method` take."""
    return [entry.name for entry in METHODS]


def find_method(name: str) -> MethodEntry:
    """The row of the table of methods: summary, claims, and how to make it."""
    entry = next((entry for entry in METHODS if entry.name == name), None)
    if entry is None:
        raise unknown_name("method", name, list_methods())
    return entry


def why_unavailable(entry: MethodEntry) -> str | None:
    """What a method needs and does not find here, and what to do about it; None for a method that is ready."""
    if entry.package is not None and find_spec(entry.package) is None:
        return f'{entry.package} is not installed: pip install "deepume[bench]"'
    return None if entry.weights is None else why_missing(entry.weights)


def get_method(name: str) -> Method:
    """The method itself: ``(source, target) -> Registration`` on tensors ``(*batch, N, 3)``, nothing added."""
    return find_method(name).make()


def _check_effort(entry: MethodEntry, effort: str, time_limit: float | int | None) -> Effort:
    """The effort as a member of its enum; only an anytime method can be given another than the usual one."""
    if effort not in list(Effort):
        raise unknown_name("effort", str(effort), [str(each) for each in Effort])
    if not entry.anytime and (Effort(effort) is not Effort.AUTO or time_limit is not None):
        raise DeepumeError(f"effort and time_limit are for the method {DEFAULT_METHOD!r}; {entry.name!r} has none.")
    if time_limit is not None and not time_limit > 0:
        raise DeepumeError(f"time_limit must be a number of seconds above 0, got {time_limit!r}.")
    return Effort(effort)


def _find_device(device: str | torch.device | None, source: Tensor) -> torch.device:
    if device is None:
        return source.device
    try:
        place = torch.device(device)
        torch.zeros(1, device=place).item()
    except (AssertionError, NotImplementedError, RuntimeError, TypeError):
        raise DeviceError(f"device={str(device)!r} is not on this machine. Leave device out to use the CPU.") from None
    return place


def _prepare(points: Tensor, name: str, drop_invalid: bool, place: torch.device) -> Tensor:
    """The cloud in float64, free of what no pose can be found from."""
    if drop_invalid:
        points = points[torch.isfinite(points).all(-1)]
    check_cloud(points, name)
    return points.to(place, torch.float64)


def _thin(points: Tensor, generator: torch.Generator) -> Tensor:
    """The points to compute with: not too many, and no two in one place, or the spacing of the points would be 0."""
    few = points if len(points) <= MOST_POINTS else subsample_random(points, MOST_POINTS, generator=generator)
    # Points in one place have one height, and on a grid of coordinates no others have: quicker to look through.
    heights = (few @ few.new_tensor([1, 2**0.5, 3**0.5])).sort(-1).values
    return few if bool((heights.diff(dim=-1) > 0).all()) else torch.unique(few, dim=0)


def _as_transform(initial: Any, like: Tensor, allow_scale: bool) -> RigidTransform | None:
    """The caller's pose: a transform, or anything that is a 4 x 4 matrix."""
    if initial is None:
        return None
    try:
        matrix = torch.as_tensor(initial.matrix if isinstance(initial, RigidTransform) else initial).to(like)
    except (TypeError, ValueError, RuntimeError):
        raise CloudShapeError(f"initial must be a 4 x 4 matrix, got {type(initial).__name__}.") from None
    if matrix.shape != (4, 4):
        raise CloudShapeError(f"initial must be a 4 x 4 matrix, got shape {tuple(matrix.shape)}.")
    if not bool(torch.isfinite(matrix).all()) or float(torch.linalg.det(matrix[:3, :3])) <= 0:
        raise CloudValueError(
            "initial must be a finite matrix with a proper rotation: its determinant is not positive."
        )
    return _split_matrix(matrix, allow_scale)


def _split_matrix(matrix: Tensor, allow_scale: bool) -> RigidTransform:
    """Rotation, translation and scale of a matrix that holds them and nothing else."""
    block, last_row = matrix[:3, :3], matrix[3]
    rotation, scale = nearest_rotation(block), torch.linalg.det(block) ** (1 / 3)
    if float((block / scale - rotation).abs().max()) > POSE_TOLERANCE:
        raise CloudValueError("initial must be a rotation and a translation: its upper left block shears or stretches.")
    if float((last_row - last_row.new_tensor([0, 0, 0, 1])).abs().max()) > POSE_TOLERANCE:
        raise CloudValueError("initial must have the last row 0 0 0 1. For row vectors? Pass initial.T.")
    if not allow_scale and abs(float(scale) - 1) > POSE_TOLERANCE:
        raise CloudValueError(f"initial scales by {float(scale):.4g}. Pass allow_scale=True to estimate a scale.")
    return RigidTransform(rotation, matrix[:3, 3], scale if allow_scale else torch.ones_like(scale))
