"""Published files of trained networks: where they lie, the digest each must have, and whether it has it.

Files of the default method are inside the package, others, packed by gzip, in ``weights/`` of a checkout. One table
in the package, ``trained/SHA256SUMS``, pins them all; a digest is that of the file unpacked. A user's own files, in the
folder that the environment variable ``DEEPUME_WEIGHTS`` names, come first and are not pinned. Needs no torch.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import os
import zlib
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from deepume.errors import DeepumeError, require_known

PACKAGE_FOLDER = Path(__file__).parent / "trained"
"""Files that come with the package."""
CHECKOUT_FOLDER = Path(__file__).parents[3] / "weights"
"""Files of a checkout that are too many for the package."""
TABLE = PACKAGE_FOLDER / "SHA256SUMS"
"""Digests of all published files, in both folders."""
OWN_FOLDER = "DEEPUME_WEIGHTS"
"""Environment variable that names a folder of the user's own weights, such as that of a training run."""
SUFFIX = ".safetensors"
"""Ends the name of a weights file."""
GRAPH = ".onnx"
"""Ends the name of an exported network."""
PACKED = ".gz"
"""Follows the suffix of a file that gzip has packed."""


class WeightsError(DeepumeError):
    """A weights file is missing, damaged, not the published one, or of another network."""


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


def is_path(name_or_path: str | Path) -> bool:
    """True for the path of a weights file, packed or not; False for the name of published weights."""
    return str(name_or_path).endswith((SUFFIX, SUFFIX + PACKED))


def locate_weights(name_or_path: str | Path) -> tuple[Path, str | None]:
    """Path of a weights file, and the digest it must have, where one is known."""
    table = read_table()
    if is_path(name_or_path):
        path = Path(name_or_path)
        published = path.resolve().parent in (PACKAGE_FOLDER.resolve(), CHECKOUT_FOLDER.resolve())
        return path, table.get(name_of(path)) if published else None
    name = str(name_or_path)
    own = _find_own(name)
    if own is not None:
        return own, None
    require_known("weights", name, list(table))
    path = _find(name, SUFFIX)
    if path is None:
        raise WeightsError(why_missing(name))
    return path, table[name]


def read_graph(name: str) -> bytes:
    """Contents of an exported network that comes with the package, verified."""
    table = read_table(GRAPH)
    require_known("exported network", name, list(table))
    path = _find(name, GRAPH)
    if path is None:
        raise WeightsError(f"{name}{GRAPH} is not in {PACKAGE_FOLDER}. Install deepume again.")
    return read_verified(path, table[name])


def why_missing(name: str) -> str | None:
    """Why no weights can be loaded by this name, and what to do about it; None where they are at hand."""
    if _find_own(name) is not None:
        return None
    if name not in read_table():
        return (
            f"no weights here: deepume train {name} --data DATA --out RUN makes RUN/{name}{SUFFIX}; "
            f"with {OWN_FOLDER}=RUN in the environment it is found"
        )
    if _find(name, SUFFIX) is None:
        return (
            f"Weights {name!r} are published, but {name}{SUFFIX} is neither in {PACKAGE_FOLDER} nor in "
            f"{CHECKOUT_FOLDER}. Put it there, or train it: deepume train."
        )
    return None


def _find(name: str, suffix: str) -> Path | None:
    return _first(name, suffix, PACKAGE_FOLDER, CHECKOUT_FOLDER)


def _find_own(name: str) -> Path | None:
    folder = os.environ.get(OWN_FOLDER)
    return _first(name, SUFFIX, Path(folder)) if folder else None


def _first(name: str, suffix: str, *folders: Path) -> Path | None:
    """The file in the first folder that has it, as it is or packed."""
    paths = (folder / f"{name}{ending}" for folder in folders for ending in (suffix, suffix + PACKED))
    return next((path for path in paths if path.is_file()), None)


def read_verified(path: Path, sha256: str | None) -> bytes:
    """Contents of a file, unpacked; refused unless they have this digest. None: there is nothing to compare with."""
    contents = _contents(path)
    found = _digest(contents) if sha256 else None
    if found != sha256:
        raise WeightsError(
            f"{path} is not the published file: SHA-256 {found}, expected {sha256}. It is damaged or was changed; "
            "fetch it again."
        )
    return contents


def _contents(path: Path) -> bytes:
    packed = path.read_bytes()
    try:
        return gzip.decompress(packed) if path.name.endswith(PACKED) else packed
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise WeightsError(f"{path} is not a complete gzip file ({error}). Fetch it again.") from error


def digest_of(path: Path) -> str:
    """SHA-256 of a file, unpacked."""
    return _digest(_contents(path))


def _digest(contents: bytes) -> str:
    return hashlib.sha256(contents).hexdigest()


def name_of(path: Path) -> str:
    """Name of the network in a file: the name of the file without its suffixes."""
    return Path(path.name.removesuffix(PACKED)).stem


def list_weights(suffix: str = SUFFIX) -> list[Entry]:
    """All published weights (or exported networks) and all in the two folders, each with its state."""
    table, endings = read_table(suffix), (suffix + PACKED, suffix)
    paths = (folder.glob(f"*{end}") for folder in (CHECKOUT_FOLDER, PACKAGE_FOLDER) for end in endings)
    found = {name_of(path): path for group in paths for path in group}
    return [_entry(name, found.get(name), table.get(name, "")) for name in sorted(table | found)]


def _entry(name: str, path: Path | None, expected: str) -> Entry:
    if path is None:
        return Entry(name, None, FileState.MISSING, expected)
    if not expected:
        return Entry(name, path, FileState.UNLISTED, "")
    return Entry(name, path, FileState.VERIFIED if _is_intact(path, expected) else FileState.DIFFERENT, expected)


def _is_intact(path: Path, expected: str) -> bool:
    try:
        return digest_of(path) == expected
    except WeightsError:
        return False


def read_table(suffix: str = SUFFIX) -> dict[str, str]:
    """Digest of each published file with this suffix, by name."""
    return {Path(file).stem: digest for file, digest in _read_lines().items() if file.endswith(suffix)}


def _read_lines() -> dict[str, str]:
    lines = TABLE.read_text().split("\n") if TABLE.is_file() else []
    return {file: digest for digest, file in (line.split() for line in lines if line.strip())}


def publish(path: Path) -> Path:
    """Enter a file into the table, or renew its line; one in ``weights/`` is packed. Returns where it lies now."""
    lines = _read_lines() | {path.name.removesuffix(PACKED): digest_of(path)}
    TABLE.write_text("".join(f"{digest}  {file}\n" for file, digest in sorted(lines.items())))
    outside = path.resolve().parent == CHECKOUT_FOLDER.resolve()
    return pack_file(path) if outside and not path.name.endswith(PACKED) else path


def pack_file(path: Path) -> Path:
    """Replace a file by its gzip, which holds no time and no name: the same contents give the same bytes."""
    packed, buffer = path.with_name(path.name + PACKED), io.BytesIO()
    with gzip.GzipFile(filename="", mode="wb", compresslevel=9, fileobj=buffer, mtime=0) as file:
        file.write(path.read_bytes())
    packed.write_bytes(buffer.getvalue())
    path.unlink()
    return packed
