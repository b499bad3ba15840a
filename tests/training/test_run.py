import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from deepume.errors import FileFormatError
from deepume.networks.weights_files import WeightsError, config_of, load_weights, restore_weights
from deepume.training.losses.objectives import TRAINABLES
from deepume.training.pairs.bank import load_banks
from deepume.training.recipes.our_recipes import RECIPES
from deepume.training.recipes.recipe import Recipe, ShapeSource
from deepume.training.run import train_recipe

SOURCE = Path(__file__).parents[2] / "src"


def test_a_run_leaves_weights_that_load(recipe: Recipe, tmp_path: Path):
    short = replace(recipe, steps=3)
    outcome = train_recipe(short, data=None, out=tmp_path, commit="abc", printer=lambda line: None)
    assert outcome.finished
    assert outcome.steps == 3
    weights = load_weights(outcome.weights)
    config = config_of(weights, type(short.config))
    assert config == short.config
    restore_weights(TRAINABLES[short.method].build(config), config, weights)
    assert weights.card.commit == "abc"
    assert weights.card.recipe["name"] == short.name
    assert weights.card.validation["zero"]["mean_deg"] >= 0
    again = train_recipe(short, data=None, out=tmp_path, printer=lambda line: None)
    assert again.steps == 3, "a finished run has nothing left to do"


def test_a_run_goes_on_from_the_weights_it_is_given(recipe: Recipe, tmp_path: Path):
    """With steps too small to change anything, the answer is the start, rounded to half precision as files are."""
    first = train_recipe(replace(recipe, steps=3), data=None, out=tmp_path / "first", printer=lambda line: None)
    going_on = replace(recipe, start=str(first.weights), learning_rate=1e-30, weight_decay=0.0, steps=2, seed=1)
    second = train_recipe(going_on, data=None, out=tmp_path / "second", printer=lambda line: None)
    before, after = load_weights(first.weights), load_weights(second.weights)
    assert all(torch.equal(values, after.state[name]) for name, values in before.state.items())
    assert after.card.recipe["start"] == str(first.weights)
    first.weights.unlink()
    again = train_recipe(going_on, data=None, out=tmp_path / "second", printer=lambda line: None)
    assert again.steps == 2, "the weights of the start are not read again"
    other = replace(going_on, start=str(second.weights), config=replace(recipe.config, blocks=2))
    with pytest.raises(WeightsError, match="another configuration"):
        train_recipe(other, data=None, out=tmp_path / "third", printer=lambda line: None)


def test_missing_weights_are_an_error_before_any_shape_is_loaded(tmp_path: Path):
    with pytest.raises(WeightsError, match="No weights file runs/default"):
        train_recipe(
            RECIPES["finish"], data=tmp_path / "no shapes here", out=tmp_path / "run", printer=lambda line: None
        )


def test_packs_are_split_by_name_and_weighed_by_collection(recipe: Recipe, tmp_path: Path):
    generator = np.random.default_rng(0)
    points = generator.integers(-20000, 20000, (200, 2048, 3)).astype(np.int16)
    names = np.array([f"shape_{k}" for k in range(200)])
    collections = np.array(["ldraw", "nasa"] * 100)
    for shard in range(2):
        part = slice(shard * 100, shard * 100 + 100)
        np.savez(tmp_path / f"train_open_{shard}.npz", points=points[part], names=names[part], source=collections[part])
    open_only = replace(recipe, shapes=(ShapeSource("open"),))
    banks = load_banks(open_only, tmp_path, torch.device("cpu"), with_symmetry=False)
    assert len(banks.training) + len(banks.validation) == 200
    assert 2 <= len(banks.validation) <= 25
    weights = torch.diff(banks.training.cumulative, prepend=torch.zeros(1))
    assert weights.max() / weights.min() == pytest.approx(4, rel=1e-3)


def test_a_missing_folder_says_what_is_needed(tmp_path: Path):
    with pytest.raises(FileFormatError, match="--data"):
        load_banks(RECIPES["default"], None, torch.device("cpu"))
    with pytest.raises(FileFormatError, match=r"train_open_\*.npz"):
        load_banks(RECIPES["default"], tmp_path, torch.device("cpu"))


def test_training_needs_torch_and_numpy_only():
    absent = ["scipy", "small_gicp", "trimesh", "tyro", "rich", "tensorboard", "h5py", "beartype", "matplotlib"]
    absent += ["open3d", "kiss_matcher"]
    code = f"import sys; sys.modules.update(dict.fromkeys({absent})); import deepume.training.run"
    found = subprocess.run(
        [sys.executable, "-c", code], env={"PYTHONPATH": str(SOURCE)}, capture_output=True, text=True
    )
    assert found.returncode == 0, found.stderr


def test_the_lines_for_machines_without_the_command_line_train(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    lines = re.search(r"```python\n(.*?)```", (SOURCE.parent / "docs" / "baselines.md").read_text(), re.DOTALL)
    assert lines is not None
    monkeypatch.setitem(RECIPES, "dcp-60", replace(RECIPES["tiny"], name="dcp-60", steps=2))
    monkeypatch.chdir(tmp_path)
    exec(lines[1], {})
    assert load_weights(tmp_path / "RUN" / "dcp-60.safetensors").card.steps == 2


@pytest.mark.slow
def test_two_processes_train_one_network(tmp_path: Path):
    command = [
        sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2", "--standalone", "-m",
        "deepume.cli.main", "train", "tiny", "--out", str(tmp_path), "--change", "steps=4",
    ]  # fmt: skip
    environment = {"PYTHONPATH": str(SOURCE), "OMP_NUM_THREADS": "1", "PATH": "/usr/bin:/bin"}
    found = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert found.returncode == 0, found.stderr
    assert found.stdout.count("4 steps") == 1
    assert len(torch.load(tmp_path / "checkpoint.pt", weights_only=True)["draws"]) == 2
