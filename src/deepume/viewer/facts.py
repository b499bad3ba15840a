"""What a registration says, as rows of a name and words, for people to read beside the pictures."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import fields

from torch import Tensor

from deepume.result import UNFIT_SCORE, Diagnostics, Registration, Symmetry
from deepume.viewer.scene import FAR, Scene

Rows = list[tuple[str, str]]

TOLD_OF_RESULT = ("score", "ambiguous", "confidence")
"""Fields of a result that have sentences of their own; :func:`other_facts` lists the rest."""
TOLD_OF_PAIR = ("source_size", "target_size", "extent_ratio", "unit_guess", "density_ratio", "method", "warnings")


def trust_rows(result: Registration) -> Rows:
    """How far the answer can be trusted, each figure with its meaning."""
    rivals = sum(bool(each.equivalent) for each in result.hypotheses[1:])
    return [
        ("confidence", confidence_words(result)),
        ("score", f"{float(result.score):.3f}, where {SCORE_MEANING}"),
        ("rivals", _rival_words(rivals, ambiguous=bool(result.ambiguous))),
        ("symmetry", symmetry_words(result.symmetry)),
        *(other_facts(result, TOLD_OF_RESULT)),
        *(other_facts(result.symmetry, ()) if result.symmetry is not None else []),
    ]


SCORE_MEANING = (
    f"0 means coinciding points, about 1 two samplings of one surface, {UNFIT_SCORE} and more clouds that do not fit"
)


def confidence_words(result: Registration) -> str:
    """The probability that the pose is right, and what that means."""
    if result.confidence is None:
        return "not estimated by this method"
    share = float(result.confidence)
    return f"{share:.1%}: of 1,000 answers this sure, about {1000 * share:.0f} are right, up to the object's symmetry."


def _rival_words(rivals: int, *, ambiguous: bool) -> str:
    if rivals:
        return f"{rivals} other {'pose fits' if rivals == 1 else 'poses fit'} as well as the best."
    return "The points leave part of the pose undetermined." if ambiguous else "No other pose fits as well."


def symmetry_words(symmetry: Symmetry | None) -> str:
    """Axes of rotation symmetry with their orders."""
    if symmetry is None:
        return "not estimated by this method"
    axes = [
        f"{'any angle' if order == 0 else f'{order}-fold'} about ({', '.join(f'{value:.3f}' for value in axis)})"
        for axis, order in zip(symmetry.axes.tolist(), symmetry.orders, strict=True)
    ]
    return "; ".join(axes) or "none found"


def pair_rows(scene: Scene, diagnostics: Diagnostics | None) -> Rows:
    """Sizes, units and densities; what was thinned or moved for display."""
    rows = [
        ("source", _shown_words(len(scene.source), scene.source_size)),
        ("target", _shown_words(len(scene.target), len(scene.whole_target))),
        (
            "sampling floor",
            f"{scene.floor:.4g}, mean distance between neighboring target points, in the unit of the target",
        ),
    ]
    if scene.distance > FAR:
        rows.append(("as given", f"{scene.distance:.4g} target radii apart; drawn nearer, to be seen together"))
    if diagnostics is None:
        return rows
    return [
        *rows,
        ("size", f"target {diagnostics.extent_ratio:.4g} times the source"),
        ("units", diagnostics.unit_guess or "no sign of a change"),
        ("density", f"source points {diagnostics.density_ratio:.3g} times as far apart as target points"),
        ("method", diagnostics.method),
        *other_facts(diagnostics, TOLD_OF_PAIR),
    ]


def _shown_words(shown: int, size: int) -> str:
    return f"{size:,} points" if shown == size else f"{size:,} points, {shown:,} of them drawn at random"


def time_rows(diagnostics: Diagnostics | None) -> Rows:
    """Milliseconds of each stage, and their sum."""
    seconds = {} if diagnostics is None else dict(diagnostics.seconds)
    return [(name, f"{1e3 * value:,.1f} ms") for name, value in {**seconds, "total": sum(seconds.values())}.items()]


def other_facts(facts: object, told: Collection[str]) -> Rows:
    """Every further field that is one number, truth or text: the report shows all that a method estimates."""
    values = {field.name: getattr(facts, field.name) for field in fields(facts)}  # pyright: ignore[reportArgumentType]
    plain = {name: value.item() if _is_single(value) else value for name, value in values.items()}
    return [
        (name.replace("_", " "), f"{value:.4g}" if isinstance(value, float) else str(value))
        for name, value in plain.items()
        if name not in told and isinstance(value, str | int | float)
    ]


def _is_single(value: object) -> bool:
    return isinstance(value, Tensor) and value.dim() == 0
