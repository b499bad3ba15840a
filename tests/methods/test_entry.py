import pytest
import torch

from deepume import Claim, Method, get_method, list_methods
from deepume.api import find_method, why_unavailable
from deepume.errors import UnknownNameError
from deepume.networks.loading import load_network
from deepume.networks.weights_files import WeightsError
from deepume.training.recipes.our_recipes import RECIPES

PINNED = ["auto", "identity", "pca", "ume", "ume-3", "icp", "frames-icp", "frames-gicp", "grid-icp", "fgr", "ransac"]
PINNED += ["kiss-matcher", "goicp", "pointnetlk", "dcp-v1", "dcp", "deepgmr", "rgm", "deepume-paper", "deepume"]


def test_the_pinned_names_are_there_once() -> None:
    assert set(PINNED) <= set(list_methods())
    assert len(list_methods()) == len(set(list_methods()))


@pytest.mark.parametrize("name", list_methods())
def test_every_row_says_what_it_is_and_makes_a_method(name: str) -> None:
    entry = find_method(name)
    assert entry.name == name
    assert 10 < len(entry.summary) < 80
    assert entry.claims <= set(Claim)
    assert isinstance(get_method(name), Method)


@pytest.mark.parametrize(
    ("name", "hint"), [("frames_gicp", "'frames-gicp'"), ("UME", "'ume'"), ("grid", "'grid-icp'"), ("icpp", "'icp'")]
)
def test_an_unknown_name_gets_a_suggestion_and_the_list(name: str, hint: str) -> None:
    with pytest.raises(UnknownNameError, match=rf"Unknown method {name!r}\. Did you mean {hint}\?") as caught:
        get_method(name)
    assert all(known in str(caught.value) for known in PINNED)


@pytest.mark.parametrize("name", ["", "zzzzzz"])
def test_a_name_unlike_any_gets_the_list(name: str) -> None:
    with pytest.raises(UnknownNameError, match=rf"Unknown method {name!r}\. Known: auto, identity"):
        find_method(name)


@pytest.mark.parametrize("name", ["dcp", "rgm-60"])
def test_a_method_without_weights_names_the_recipe_that_trains_it(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("deepume.networks.published_files.read_table", dict)
    load_network.cache_clear()
    cloud = torch.rand(30, 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    with pytest.raises(WeightsError, match=rf"deepume train {name} --data"):
        get_method(name)(cloud, cloud)
    assert f"deepume train {name}" in str(why_unavailable(find_method(name)))
    assert name in RECIPES


def test_weights_of_a_method_that_are_here_are_found() -> None:
    assert why_unavailable(find_method("deepume")) is None
