"""Every error that deepume raises on purpose: each says what was expected, what arrived and what to do."""

from __future__ import annotations

from collections.abc import Sequence


class DeepumeError(Exception):
    """Base of all errors of this package; catch it to catch them all."""


class CloudShapeError(DeepumeError):
    """A cloud does not have the shape (..., N, 3)."""


class CloudValueError(DeepumeError):
    """A cloud has the right shape, but coordinates or point counts that no pose can be found from."""


class FileFormatError(DeepumeError):
    """A file is missing, empty, truncated, mislabelled or of a format that is not known."""


class MissingPackageError(DeepumeError):
    """An optional package is needed for this step; the message is the exact install line."""


class UnknownNameError(DeepumeError):
    """A name of a method, scenario, law, shape or set is not known; the message lists the known ones."""


class DeviceError(DeepumeError):
    """The requested device is not on this machine."""


def require_known(kind: str, name: str, known: list[str]) -> None:
    """Raise :func:`unknown_name` unless ``name`` is one of ``known``."""
    if name not in known:
        raise unknown_name(kind, name, known)


def unknown_name(kind: str, name: str, known: Sequence[str]) -> UnknownNameError:
    """The error that lists the known names, the closest one first."""
    from difflib import get_close_matches

    close = get_close_matches(str(name).lower(), known, n=1)
    hint = f" Did you mean {close[0]!r}?" if close else ""
    return UnknownNameError(f"Unknown {kind} {name!r}.{hint} Known: {', '.join(known)}.")
