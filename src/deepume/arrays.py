"""Arrays of NumPy and tensors of torch behind one interface: the array API. Geometry is written once, for both."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

Array = Any
"""A NumPy array or a torch tensor; the shape stands in the annotation, ``Float[Array, "N 3"]``."""


def namespace(array: Array) -> Any:
    """The functions that suit an array: NumPy's own, or those of torch under the same names."""
    if isinstance(array, np.ndarray | np.generic):
        return np
    from array_api_compat import array_namespace  # it imports torch only where a tensor is at hand

    return array_namespace(array)


def as_like(values: Any, like: Array) -> Array:
    """Values as an array of the same kind, precision and place as another."""
    if isinstance(like, np.ndarray | np.generic):
        return np.asarray(values.numpy(force=True) if hasattr(values, "detach") else values, dtype=like.dtype)
    return values.to(like) if hasattr(values, "detach") else namespace(like).asarray(values).to(like)


def to_numpy(array: Array) -> np.ndarray:
    """An array as NumPy has it."""
    return np.asarray(array.numpy(force=True) if hasattr(array, "detach") else array)


def to_doubles(array: Array) -> np.ndarray:
    """An array in double precision on the CPU, as NumPy has it."""
    return to_numpy(array).astype(np.float64, copy=False)


def take_along(values: Array, indices: Array, axis: int) -> Array:
    """``take_along_axis``, which broadcasts: torch and NumPy have it under different names."""
    xp = namespace(values)
    return np.take_along_axis(values, indices, axis) if xp is np else values.take_along_dim(indices, axis)


def smallest_number(array: Array) -> float:
    """The smallest positive number of full precision that an array can hold."""
    return float(namespace(array).finfo(array.dtype).smallest_normal)


def same_values(first: Any, second: Any) -> bool:
    """True if two values hold the same numbers: arrays and tensors, and dataclasses and tuples of them."""
    if is_dataclass(first) and type(first) is type(second):
        names = [each.name for each in fields(first)]
        return all(same_values(getattr(first, name), getattr(second, name)) for name in names)
    if isinstance(first, tuple) and isinstance(second, tuple):
        return len(first) == len(second) and all(map(same_values, first, second))
    if hasattr(first, "dtype") and hasattr(second, "dtype"):
        return np.array_equal(to_doubles(first), to_doubles(second))
    return type(first) is type(second) and not hasattr(first, "dtype") and first == second


class Comparable:
    """Equal to another of its kind that holds the same numbers."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return same_values(self, other) if type(self) is type(other) else NotImplemented

    __hash__ = None  # pyright: ignore[reportAssignmentType]


def lower_median(values: np.ndarray) -> float:
    """The middle one of all values, the smaller of two: a value that is there, and no mean."""
    middle = (values.size - 1) // 2
    return float(np.partition(values, middle, axis=None)[middle])
