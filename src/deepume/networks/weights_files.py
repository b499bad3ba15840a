"""Trained weights by name: verified safetensors files that carry their configuration and their history.

Files of the default method are inside the package, others in ``weights/`` of a checkout. One table in the package,
``trained/SHA256SUMS``, pins them all; ``sha256sum -c`` reads it too. A user's own files, in the folder that the
environment variable ``DEEPUME_WEIGHTS`` names, come first and are not pinned. No pickle is ever read.
"""

from __future__ import annotations

import hashlib
import json
import os
import types
from dataclasses import MISSING, asdict, dataclass, field, fields
from enum import Enum, StrEnum
from pathlib import Path
from typing import Any, NamedTuple, TypeVar, Union, get_args, get_origin, get_type_hints

from safetensors import SafetensorError, safe_open
from safetensors.torch import save as to_safetensors
from torch import Tensor, nn

from deepume.errors import DeepumeError, require_known
from deepume.networks.storage import Storage, pack, unpack

PACKAGE_FOLDER = Path(__file__).parent / "trained"
"""Weights that come with the package."""
CHECKOUT_FOLDER = Path(__file__).parents[3] / "weights"
"""Weights of a checkout that are too many for the package."""
TABLE = PACKAGE_FOLDER / "SHA256SUMS"
"""Digests of all published files, in both folders."""
OWN_FOLDER = "DEEPUME_WEIGHTS"
"""Environment variable that names a folder of the user's own weights, such as that of a training run."""
SUFFIX = ".safetensors"
FORMAT = "deepume-1"
"""Version of the header."""
Config = TypeVar("Config")


class WeightsError(DeepumeError):
    """A weights file is missing, damaged, not the published one, or of another network."""


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


class FileState(StrEnum):
    """What is known of a published file."""

    VERIFIED = "verified"
    MISSING = "missing"
    """In the table, but in neither folder."""
    DIFFERENT = "different"
    """There, but not the published file: its digest differs."""
    UNLISTED = "unlisted"
    """There, but not in the table."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of :func:`list_weights`."""

    name: str
    path: Path | None
    """None where the file is missing."""
    state: FileState
    sha256: str
    """Digest that the table demands; empty where unlisted."""


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
    """Contents of a published file by name, verified, or of any file by path (ending in ``.safetensors``).

    A published file whose digest is not the table's is refused. A file by path is checked against ``sha256`` if
    that is given, and against the table if it lies in one of the published folders.
    """
    path, expected = _locate(name_or_path)
    if not path.is_file():
        raise WeightsError(f"No weights file {path}. Published names: {', '.join(read_table()) or 'none yet'}.")
    _verify(path, sha256 or expected)
    return _read(path)


def _locate(name_or_path: str | Path) -> tuple[Path, str | None]:
    """Path of a file, and the digest it must have, where one is known."""
    table = read_table()
    if str(name_or_path).endswith(SUFFIX):
        path = Path(name_or_path)
        published = path.resolve().parent in (PACKAGE_FOLDER.resolve(), CHECKOUT_FOLDER.resolve())
        return path, table.get(path.stem) if published else None
    name = str(name_or_path)
    own = _find_own(name)
    if own is not None:
        return own, None
    require_known("weights", name, list(table))
    path = _find(name)
    if path is None:
        raise WeightsError(why_missing(name))
    return path, table[name]


def why_missing(name: str) -> str | None:
    """Why no weights can be loaded by this name, and what to do about it; None where they are at hand."""
    if _find_own(name) is not None:
        return None
    if name not in read_table():
        return (
            f"no weights here: deepume train {name} --data DATA --out RUN makes RUN/{name}{SUFFIX}; "
            f"with {OWN_FOLDER}=RUN in the environment it is found"
        )
    if _find(name) is None:
        return (
            f"Weights {name!r} are published, but {name}{SUFFIX} is neither in {PACKAGE_FOLDER} nor in "
            f"{CHECKOUT_FOLDER}. Put it there, or train it: deepume train."
        )
    return None


def _find(name: str) -> Path | None:
    candidates = [folder / f"{name}{SUFFIX}" for folder in (PACKAGE_FOLDER, CHECKOUT_FOLDER)]
    return next((path for path in candidates if path.is_file()), None)


def _find_own(name: str) -> Path | None:
    folder = os.environ.get(OWN_FOLDER)
    path = Path(folder) / f"{name}{SUFFIX}" if folder else None
    return path if path is not None and path.is_file() else None


def _verify(path: Path, expected: str | None) -> None:
    found = digest_of(path) if expected else None
    if found != expected:
        raise WeightsError(
            f"{path} is not the published file: SHA-256 {found}, expected {expected}. It is damaged or was changed; "
            "fetch it again."
        )


def _read(path: Path) -> Weights:
    try:
        with safe_open(path, framework="pt") as file:
            header = file.metadata() or {}
            state = unpack({name: file.get_tensor(name) for name in file.keys()})  # noqa: SIM118
    except SafetensorError as error:
        raise WeightsError(f"{path} is not a complete safetensors file ({error}). Fetch it again.") from error
    if header.get("format") != FORMAT:
        raise WeightsError(f"{path} has no {FORMAT} header: it was not written by deepume. Use save_weights.")
    return Weights(state, json.loads(header["config"]), _card(json.loads(header["card"])))


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


def list_weights() -> list[Entry]:
    """All published files and all files in the two folders, each with its state."""
    table = read_table()
    found = {path.stem: path for folder in (CHECKOUT_FOLDER, PACKAGE_FOLDER) for path in folder.glob(f"*{SUFFIX}")}
    return [_entry(name, found.get(name), table.get(name, "")) for name in sorted(table | found)]


def _entry(name: str, path: Path | None, expected: str) -> Entry:
    if path is None:
        return Entry(name, None, FileState.MISSING, expected)
    if not expected:
        return Entry(name, path, FileState.UNLISTED, "")
    state = FileState.VERIFIED if digest_of(path) == expected else FileState.DIFFERENT
    return Entry(name, path, state, expected)


def read_table() -> dict[str, str]:
    """Digest of each published file, by name."""
    lines = TABLE.read_text().split("\n") if TABLE.is_file() else []
    rows = [line.split() for line in lines if line.strip()]
    return {Path(file).stem: digest for digest, file in rows}


def publish(path: Path) -> None:
    """Enter a file into the table, or renew its line."""
    table = read_table() | {path.stem: digest_of(path)}
    TABLE.write_text("".join(f"{digest}  {name}{SUFFIX}\n" for name, digest in sorted(table.items())))


def digest_of(path: Path) -> str:
    """SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
