"""Trained weights as safetensors files that carry their configuration and their history.

:mod:`deepume.networks.published_files` finds and verifies them. No pickle is ever read.
"""

from __future__ import annotations

import json
import types
from dataclasses import MISSING, asdict, dataclass, field, fields
from enum import Enum
from pathlib import Path
from typing import Any, NamedTuple, TypeVar, Union, get_args, get_origin, get_type_hints

from safetensors import SafetensorError
from safetensors.torch import load as from_safetensors
from safetensors.torch import save as to_safetensors
from torch import Tensor, nn

from deepume.networks.published_files import (
    SUFFIX,
    Entry,
    FileState,
    WeightsError,
    digest_of,
    list_weights,
    locate_weights,
    publish,
    read_table,
    read_verified,
    why_missing,
)
from deepume.networks.storage import Storage, pack, unpack

__all__ = [
    "SUFFIX",
    "Card",
    "Entry",
    "FileState",
    "Weights",
    "WeightsError",
    "config_of",
    "digest_of",
    "list_weights",
    "load_weights",
    "publish",
    "read_table",
    "restore_weights",
    "save_weights",
    "shrink_weights",
    "why_missing",
]

FORMAT = "deepume-1"
"""Version of the header."""
Config = TypeVar("Config")


@dataclass(frozen=True, slots=True)
class Card:
    """Where weights come from; kept in the header of the file."""

    recipe: dict[str, Any] = field(default_factory=dict)
    """The whole training recipe."""
    data: tuple[str, ...] = ()
    """Sets of shapes and how many of each."""
    seconds: float = 0.0
    """Time in the training loop."""
    steps: int = 0
    """Steps of the optimizer."""
    pairs: int = 0
    """Pairs of clouds seen."""
    device: str = ""
    """Machine it ran on."""
    commit: str = ""
    """Commit of the code that trained them."""
    validation: dict[str, Any] = field(default_factory=dict)
    """Figures on held-out training shapes, by scenario."""
    note: str = ""
    """What else a user must know, such as terms of the training data."""


class Weights(NamedTuple):
    """Contents of a weights file."""

    state: dict[str, Tensor]
    """Parameters and buffers by name, in float32 however they were stored."""
    config: dict[str, Any]
    """Fields of the network's configuration, and its class as ``type``."""
    card: Card
    """Where they come from."""


def save_weights(
    path: Path, network: nn.Module, config: Any, card: Card, *, storage: Storage | str = Storage.FULL
) -> str:
    """Write a weights file and return its SHA-256. ``storage`` says how finely numbers are kept.

    The file is renamed into place when it is complete.
    """
    settings = {"type": type(config).__name__, **asdict(config)}
    return _write(path, Weights(network.state_dict(), settings, card), Storage(storage))


def shrink_weights(path: Path, out: Path, *, storage: Storage | str = Storage.BYTES) -> str:
    """Write the contents of a file in a smaller storage, and return the SHA-256 of the new file."""
    return _write(out, load_weights(path), Storage(storage))


def _write(path: Path, weights: Weights, storage: Storage) -> str:
    header = {
        "format": FORMAT,
        "config": json.dumps(weights.config, sort_keys=True),
        "card": json.dumps(asdict(weights.card), sort_keys=True),
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(path.name + ".partial")
    partial.write_bytes(to_safetensors(pack(weights.state, storage), header))
    partial.replace(path)
    return digest_of(path)


def load_weights(name_or_path: str | Path, *, sha256: str | None = None) -> Weights:
    """Contents of a published file by name, verified, or of any file by path (``.safetensors``, ``.safetensors.gz``).

    A published file whose digest is not the table's is refused. A file by path is checked against ``sha256`` if
    that is given, and against the table if it lies in one of the published folders.
    """
    path, expected = locate_weights(name_or_path)
    if not path.is_file():
        raise WeightsError(f"No weights file {path}. Published names: {', '.join(read_table()) or 'none yet'}.")
    return _read(read_verified(path, sha256 or expected), path)


def _read(contents: bytes, path: Path) -> Weights:
    try:
        state = unpack(from_safetensors(contents))
    except SafetensorError as error:
        raise WeightsError(f"{path} is not a complete safetensors file ({error}). Fetch it again.") from error
    header = _header(contents)
    if header.get("format") != FORMAT:
        raise WeightsError(f"{path} has no {FORMAT} header: it was not written by deepume. Use save_weights.")
    return Weights(state, json.loads(header["config"]), _card(json.loads(header["card"])))


def _header(contents: bytes) -> dict[str, str]:
    """Texts in the header: eight bytes with its length, then JSON."""
    length = int.from_bytes(contents[:8], "little")
    return json.loads(contents[8 : 8 + length]).get("__metadata__", {})


def _card(values: dict[str, Any]) -> Card:
    """The card in a header; fields that this version does not know are left out."""
    hints = get_type_hints(Card)
    return Card(**{name: _typed(value, hints[name]) for name, value in values.items() if name in hints})


def restore_weights(network: nn.Module, config: Any, weights: Weights) -> None:
    """Put weights into a network of the very same configuration; anything else is refused, naming what differs."""
    _require_type(type(config), weights.config)
    own = json.loads(json.dumps(asdict(config)))
    differing = [f"{key}: {weights.config.get(key)!r} in the file, {own[key]!r} here" for key in own
                 if weights.config.get(key) != own[key]]  # fmt: skip
    if differing:
        raise WeightsError(f"The weights are of another configuration ({'; '.join(differing)}). Build it from theirs.")
    try:
        network.load_state_dict(weights.state, strict=True)
    except RuntimeError as error:
        raise WeightsError(f"The weights do not fit the network, though its configuration does: {error}") from error


def config_of(weights: Weights, kind: type[Config]) -> Config:
    """The configuration in a weights file as the dataclass ``kind``; an older or newer set of fields is refused."""
    _require_type(kind, weights.config)
    hints = get_type_hints(kind)
    values = {key: value for key, value in weights.config.items() if key != "type"}
    needed = {item.name for item in fields(kind) if item.default is MISSING and item.default_factory is MISSING}  # pyright: ignore
    unknown, missing = sorted(values.keys() - hints.keys()), sorted(needed - values.keys())
    if unknown or missing:
        raise WeightsError(
            f"The file's {kind.__name__} does not fit this version: unknown {unknown}, missing {missing}. "
            "Use the version of deepume that made it."
        )
    return kind(**{key: _typed(value, hints[key]) for key, value in values.items()})


def _require_type(kind: type, config: dict[str, Any]) -> None:
    if config.get("type") != kind.__name__:
        raise WeightsError(f"The weights are of a {config.get('type')}, not of a {kind.__name__}.")


def _typed(value: Any, hint: Any) -> Any:
    """A JSON value as the enum or tuple that the field holds."""
    if isinstance(hint, type) and issubclass(hint, Enum):
        return hint(value)
    if get_origin(hint) in (Union, types.UnionType):
        chosen = [member for member in get_args(hint) if member is not type(None)]
        return None if value is None else _typed(value, chosen[0])
    if get_origin(hint) is tuple:
        inner = get_args(hint)
        return tuple(_typed(item, inner[0]) for item in value)
    return value
