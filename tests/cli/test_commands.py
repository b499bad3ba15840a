import json
import subprocess
import sys
from pathlib import Path

import pytest

from deepume import __version__, list_methods
from deepume.benchmark import read_record
from deepume.networks.weights_files import load_weights

SOURCE = Path(__file__).parents[2] / "src"


def test_demo_writes_files_a_picture_and_a_small_error(run, tmp_path: Path) -> None:
    outcome = run("demo", "-o", tmp_path / "out", "--points", 512)
    assert outcome.code == 0
    written = {path.name for path in (tmp_path / "out").iterdir()}
    assert written == {"source.ply", "target.ply", "aligned.ply", "result.json", "demo.png", "report.html"}
    assert f"Open {tmp_path / 'out' / 'report.html'}" in outcome.out
    error = next(line for line in outcome.out.splitlines() if line.startswith("error"))
    assert float(error.split()[1]) < 2


def test_demo_without_plotly_does_the_rest_and_says_what_is_missing(
    run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "plotly.offline", None)
    outcome = run("demo", "-o", tmp_path, "--points", 256)
    assert outcome.code == 0
    assert 'pip install "deepume[viewer]"' in outcome.out
    assert (tmp_path / "demo.png").is_file()
    assert not (tmp_path / "report.html").exists()


def test_demo_of_an_unknown_shape_lists_the_known(run, tmp_path: Path) -> None:
    outcome = run("demo", "-o", tmp_path, "--shape", "airplan")
    assert outcome.code == 2
    assert "Did you mean 'airplane'" in outcome.err


def test_the_version_is_printed(run) -> None:
    outcome = run("--version")
    assert (outcome.code, outcome.out) == (0, f"deepume {__version__}\n")


def test_methods_lists_every_method(run) -> None:
    outcome = run("methods")
    assert outcome.code == 0
    assert all(name in outcome.out for name in list_methods())


def test_methods_says_what_is_missing_and_how_to_get_it(run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("deepume.networks.published_files.read_table", dict)
    monkeypatch.setattr("deepume.api.find_spec", lambda name: None)
    lines = run("methods").out.splitlines()
    remedies = {name: line for line in lines if line.startswith("* ") for name in line[2:].split(":")[0].split(", ")}
    assert 'pip install "deepume[bench]"' in remedies["ransac"]
    assert "deepume train NAME --data" in remedies["rgm-60"]
    assert remedies["rgm-60"] == remedies["dcp"]
    assert "frames-gicp" not in remedies


def test_info_counts_invalid_and_repeated_points(run, tmp_path: Path) -> None:
    path = tmp_path / "cloud.xyz"
    path.write_text("0 0 0\n1 0 0\n1 0 0\n0 2 0\nnan 0 0\n")
    facts = dict(
        line.split(maxsplit=1) for line in run("info", path).out.replace("not finite", "nonfinite").splitlines()
    )
    assert facts["points"] == "5"
    assert facts["nonfinite"] == "1"
    assert facts["repeated"] == "1"
    assert facts["y"] == "0 to 2"


def test_weights_are_listed_and_verified(run) -> None:
    outcome = run("weights")
    assert outcome.code == 0
    assert "deepume" in outcome.out
    assert "verified" in outcome.out


def test_a_small_benchmark_prints_its_table_and_keeps_a_record(run, tmp_path: Path) -> None:
    path = tmp_path / "record.json"
    outcome = run(
        "benchmark",
        "quick",
        "--pairs",
        2,
        "--methods",
        "identity",
        "pca",
        "--points",
        64,
        "--markdown",
        "--record",
        path,
        "--commit",
        "0123abc",
    )
    assert outcome.code == 0
    assert "**procedural, zero, haar, 64 points, 2 pairs**" in outcome.out
    record = read_record(path)
    assert record.commit == "0123abc"
    assert [row.method for row in record.rows] == ["identity", "pca"] * 3
    assert json.loads(path.read_text())["test_runs_before"] == 0


def test_a_quiet_benchmark_still_says_which_methods_it_skipped(run) -> None:
    outcome = run("benchmark", "quick", "--pairs", 1, "--methods", "identity", "dcp", "--points", 64, "-q")
    assert outcome.code == 0
    assert outcome.err.startswith("skipped dcp: ")
    assert len(outcome.err.splitlines()) == 1


def test_training_says_what_a_missing_recipe_is(run, tmp_path: Path) -> None:
    outcome = run("train", "defalt", "--out", tmp_path)
    assert outcome.code == 2
    assert "Did you mean 'default'" in outcome.err


def test_the_command_line_is_a_module_too(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "deepume.cli.main", "train", "tniy", "--out", str(tmp_path)]
    found = subprocess.run(command, env={"PYTHONPATH": str(SOURCE)}, capture_output=True, text=True)
    assert found.returncode == 2
    assert "Did you mean 'tiny'" in found.stderr


def test_a_small_training_leaves_weights_with_its_commit_and_its_log(run, tmp_path: Path) -> None:
    words = ("--change", "steps=4", "--log-every", 2, "--commit", "0123abc", "--quiet")
    outcome = run("train", "tiny", "--out", tmp_path, *words)
    assert (outcome.code, outcome.out.split(":")[0]) == (0, str(tmp_path / "tiny.safetensors"))
    assert load_weights(tmp_path / "tiny.safetensors").card.commit == "0123abc"
    events = map(json.loads, (tmp_path / "log.jsonl").read_text().splitlines())
    assert [event["step"] for event in events if event["event"] == "train"] == [2, 4]


@pytest.mark.parametrize(
    "command", ["register", "view", "demo", "info", "methods", "weights", "benchmark", "train", "export"]
)
def test_every_command_has_help(run, command: str) -> None:
    outcome = run(command, "--help")
    assert outcome.code == 0
    assert "usage: deepume" in outcome.out


def test_an_export_that_fails_says_why_in_one_line(run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = tmp_path / "file.onnx"
    assert "deepume.onnx" in run("export", "--help").out
    monkeypatch.setitem(sys.modules, "onnx", None)
    outcomes = {name: run("export", name, "-o", out) for name in ("deepume-smal", "dcp-60", "deepume-small")}
    assert {(outcome.code, len(outcome.err.splitlines())) for outcome in outcomes.values()} == {(2, 1)}
    assert 'pip install "deepume[export]"' in outcomes["deepume-small"].err
    assert not out.exists()


def test_the_exported_network_of_the_package_is_listed(run) -> None:
    assert "deepume.onnx" in run("weights").out


def test_a_benchmark_of_no_pairs_or_with_no_place_for_its_record_says_so(run, tmp_path: Path) -> None:
    assert "is empty" in run("benchmark", "quick", "--pairs", 0).err
    (tmp_path / "file").write_text("")
    words = ("--pairs", 1, "--methods", "identity", "--points", 64, "--record", tmp_path / "file" / "record.json")
    outcome = run("benchmark", "quick", *words)
    assert outcome.code == 2
    assert "Choose another place" in outcome.err


def test_several_suites_write_a_record_each_and_the_page(run, tmp_path: Path) -> None:
    small = ("--pairs", 1, "--methods", "identity", "--points", 64, "--quiet")
    outcome = run("benchmark", "T3", "cost", "report", *small, "--record", tmp_path)
    assert outcome.code == 0
    assert f"Open {tmp_path / 'index.html'}" in outcome.out
    assert {path.name for path in tmp_path.iterdir()} == {"T3.json", "cost.json", "index.html"}
    one_file = run("benchmark", "T3", "cost", *small, "--record", tmp_path / "both.json")
    assert one_file.code == 2
    assert "name a folder" in one_file.err
