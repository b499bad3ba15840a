import gzip
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file
from torch import nn

import deepume.networks.published_files as module
from deepume.errors import UnknownNameError
from deepume.networks.published_files import read_graph
from deepume.networks.weights_files import (
    Card,
    FileState,
    WeightsError,
    config_of,
    digest_of,
    list_weights,
    load_weights,
    publish,
    read_table,
    restore_weights,
    save_weights,
    shrink_weights,
    why_missing,
)


class Kind(StrEnum):
    ROUND = "round"
    SQUARE = "square"


@dataclass(frozen=True)
class Config:
    width: int = 4
    kind: Kind = Kind.ROUND
    sizes: tuple[int, ...] = (1, 2)
    limit: float | None = None


@dataclass(frozen=True)
class OtherConfig:
    width: int = 4


CARD = Card(recipe={"name": "tiny"}, data=("procedural: 64",), seconds=1.5, steps=7, commit="abc", note="for tests")


def make_network(config: Config, seed: int = 0) -> nn.Module:
    torch.manual_seed(seed)
    return nn.Sequential(nn.Linear(3, config.width), nn.BatchNorm1d(config.width))


@pytest.fixture
def folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Empty published folders."""
    for name in ("trained", "weights"):
        (tmp_path / name).mkdir()
    monkeypatch.setattr(module, "PACKAGE_FOLDER", tmp_path / "trained")
    monkeypatch.setattr(module, "CHECKOUT_FOLDER", tmp_path / "weights")
    monkeypatch.setattr(module, "TABLE", tmp_path / "trained" / "SHA256SUMS")
    return tmp_path


def test_what_is_saved_is_what_is_loaded(tmp_path: Path):
    network, config = make_network(Config()), Config(kind=Kind.SQUARE, sizes=(3,))
    digest = save_weights(tmp_path / "a.safetensors", network, config, CARD)
    weights = load_weights(tmp_path / "a.safetensors", sha256=digest)
    assert config_of(weights, Config) == config
    assert weights.card == CARD
    other = make_network(Config(), seed=1)
    restore_weights(other, config, weights)
    assert all(
        torch.equal(a, b) for a, b in zip(network.state_dict().values(), other.state_dict().values(), strict=True)
    )
    assert [path.name for path in tmp_path.iterdir()] == ["a.safetensors"]


def test_half_precision_halves_the_file_and_rounds_once(tmp_path: Path):
    network = nn.Linear(200, 200)
    save_weights(tmp_path / "full.safetensors", network, Config(), CARD)
    save_weights(tmp_path / "half.safetensors", network, Config(), CARD, storage="half")
    full, half = (tmp_path / f"{name}.safetensors" for name in ("full", "half"))
    assert half.stat().st_size < 0.55 * full.stat().st_size
    stored = load_weights(half).state["weight"]
    assert stored.dtype == torch.float32
    assert torch.equal(stored, network.weight.detach().half().float())


def test_bytes_quarter_the_file_and_keep_each_row_to_its_own_steps(tmp_path: Path):
    network = nn.Linear(200, 200)
    with torch.no_grad():
        network.weight *= torch.logspace(-6, 3, 200)[:, None]
        network.weight[7] = 0
    full, small = (tmp_path / f"{name}.safetensors" for name in ("full", "small"))
    save_weights(full, network, Config(), CARD)
    shrink_weights(full, small)
    assert small.stat().st_size < 0.3 * full.stat().st_size
    before, after = load_weights(full), load_weights(small)
    assert (after.config, after.card) == (before.config, before.card)
    assert after.state.keys() == before.state.keys()
    step = before.state["weight"].abs().amax(-1, keepdim=True) / 127
    assert ((after.state["weight"] - before.state["weight"]).abs() <= 0.501 * step).all()
    assert torch.equal(after.state["bias"], before.state["bias"].half().float())


def test_own_weights_come_before_published_ones(folders: Path, monkeypatch: pytest.MonkeyPatch):
    own = folders / "run"
    for folder, name, seed in ((folders / "weights", "both", 0), (own, "both", 1), (own, "mine", 2)):
        save_weights(folder / f"{name}.safetensors", make_network(Config(), seed), Config(), CARD)
    publish(folders / "weights" / "both.safetensors")
    assert "DEEPUME_WEIGHTS" in (why_missing("mine") or "")
    published = load_weights("both").state["0.weight"]
    monkeypatch.setenv("DEEPUME_WEIGHTS", str(own))
    assert why_missing("mine") is None
    assert torch.equal(load_weights("mine").state["0.weight"], make_network(Config(), 2).state_dict()["0.weight"])
    assert not torch.equal(load_weights("both").state["0.weight"], published)


def test_a_published_file_is_found_by_name_and_verified(folders: Path):
    for folder, name in (("trained", "inside"), ("weights", "outside")):
        path = folders / folder / f"{name}.safetensors"
        save_weights(path, make_network(Config()), Config(), CARD)
        publish(path)
        assert load_weights(name).card == CARD
    assert [(entry.name, entry.state) for entry in list_weights()] == [
        ("inside", FileState.VERIFIED),
        ("outside", FileState.VERIFIED),
    ]


def test_a_file_outside_the_package_is_packed_when_published(folders: Path):
    path = folders / "weights" / "outside.safetensors"
    save_weights(path, make_network(Config()), Config(), CARD)
    contents, before = path.read_bytes(), load_weights(path)
    packed = publish(path)
    assert [each.name for each in (folders / "weights").iterdir()] == ["outside.safetensors.gz"]
    assert gzip.decompress(packed.read_bytes()) == contents
    for name_or_path in ("outside", packed):
        after = load_weights(name_or_path)
        assert (after.config, after.card) == (before.config, before.card)
        assert all(torch.equal(after.state[name], value) for name, value in before.state.items())
    bytes_before = packed.read_bytes()
    path.write_bytes(contents)
    assert publish(path).read_bytes() == bytes_before
    assert publish(packed) == packed


@pytest.mark.parametrize("length", [5, -10, None], ids=["no header", "cut off", "another file"])
def test_a_damaged_packed_file_is_refused(folders: Path, length: int | None):
    path = folders / "weights" / "outside.safetensors"
    save_weights(path, make_network(Config()), Config(), CARD)
    packed = publish(path)
    packed.write_bytes(packed.read_bytes()[:length] if length else gzip.compress(b"another"))
    with pytest.raises(WeightsError, match=r"[fF]etch it again"):
        load_weights("outside")
    assert list_weights()[0].state is FileState.DIFFERENT


def test_exported_networks_have_lines_of_their_own_in_the_table(folders: Path):
    (folders / "trained" / "inside.onnx").write_bytes(b"graph")
    publish(folders / "trained" / "inside.onnx")
    assert read_table() == {}
    assert [(entry.name, entry.state) for entry in list_weights(".onnx")] == [("inside", FileState.VERIFIED)]
    assert read_graph("inside") == b"graph"
    (folders / "trained" / "inside.onnx").write_bytes(b"grape")
    with pytest.raises(WeightsError, match="not the published file"):
        read_graph("inside")


def test_a_changed_file_is_refused(folders: Path):
    path = folders / "trained" / "inside.safetensors"
    save_weights(path, make_network(Config()), Config(), CARD)
    publish(path)
    contents = bytearray(path.read_bytes())
    contents[-1] ^= 1
    path.write_bytes(contents)
    for name_or_path in ("inside", path):
        with pytest.raises(WeightsError, match="not the published file"):
            load_weights(name_or_path)
    assert list_weights()[0].state is FileState.DIFFERENT


def test_missing_unlisted_and_unknown_are_distinguished(folders: Path):
    path = folders / "weights" / "gone.safetensors"
    save_weights(path, make_network(Config()), Config(), CARD)
    publish(path).rename(folders / "weights" / "new.safetensors.gz")
    states = {entry.name: entry.state for entry in list_weights()}
    assert states == {"gone": FileState.MISSING, "new": FileState.UNLISTED}
    with pytest.raises(WeightsError, match="neither in"):
        load_weights("gone")
    with pytest.raises(UnknownNameError, match="Known: gone"):
        load_weights("gnoe")
    with pytest.raises(WeightsError, match="No weights file"):
        load_weights(folders / "nothing.safetensors")


def test_a_truncated_or_foreign_file_is_refused(tmp_path: Path):
    path = tmp_path / "a.safetensors"
    save_weights(path, make_network(Config()), Config(), CARD)
    path.write_bytes(path.read_bytes()[:-10])
    with pytest.raises(WeightsError, match="not a complete safetensors file"):
        load_weights(path)
    save_file({"weight": torch.zeros(3)}, path)
    with pytest.raises(WeightsError, match="not written by deepume"):
        load_weights(path)
    with pytest.raises(WeightsError, match="expected 00"):
        load_weights(path, sha256="00")


def test_another_configuration_is_refused_naming_the_difference(tmp_path: Path):
    save_weights(tmp_path / "a.safetensors", make_network(Config()), Config(), CARD)
    weights = load_weights(tmp_path / "a.safetensors")
    wide = Config(width=8)
    with pytest.raises(WeightsError, match="width: 4 in the file, 8 here"):
        restore_weights(make_network(wide), wide, weights)
    with pytest.raises(WeightsError, match="of a Config, not of a OtherConfig"):
        config_of(weights, OtherConfig)
    with pytest.raises(WeightsError, match="do not fit the network"):
        restore_weights(nn.Linear(3, 4), Config(), weights)
    newer = weights._replace(config=weights.config | {"depth": 3})
    with pytest.raises(WeightsError, match="unknown \\['depth'\\]"):
        config_of(newer, Config)


def test_published_files_of_this_checkout_are_the_published_ones():
    for entry in list_weights():
        if entry.path is not None:
            assert entry.state is FileState.VERIFIED, entry
            assert digest_of(entry.path) == entry.sha256
