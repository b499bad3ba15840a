import html
import io
import json
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from deepume import Registration, read_points, write_points
from deepume.geometry.rotation import geodesic_angle


def error_deg(matrix: np.ndarray, truth: torch.Tensor) -> float:
    return float(torch.rad2deg(geodesic_angle(torch.from_numpy(matrix)[:3, :3], truth[:3, :3])))


def test_two_files_end_within_one_degree(run, files, tmp_path: Path) -> None:
    aligned, report, picture = tmp_path / "aligned.ply", tmp_path / "result.json", tmp_path / "fit.png"
    outcome = run("register", files.source, files.target, "-o", aligned, "--json", report, "--picture", picture)
    assert (outcome.code, outcome.err) == (0, "")
    assert "The source is turned by" in outcome.out
    result = Registration.from_json(report.read_text())
    assert error_deg(result.target_from_source.numpy(), files.truth) < 1
    moved = result.target_from_source.apply(read_points(files.source))
    assert torch.allclose(read_points(aligned), moved, atol=1e-12)
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_quiet_prints_a_matrix_that_numpy_reads(run, files) -> None:
    outcome = run("register", files.source, files.target, "--quiet")
    matrix = np.loadtxt(io.StringIO(outcome.out))
    assert matrix.shape == (4, 4)
    assert error_deg(matrix, files.truth) < 1


def test_an_answer_it_is_not_sure_of_is_written_and_exits_with_3(run, files, tmp_path: Path) -> None:
    write_points(tmp_path / "ball.ply", torch.nn.functional.normalize(read_points(files.source) + 0.1, dim=-1))
    outcome = run("register", files.source, tmp_path / "ball.ply", "-o", tmp_path / "moved.ply")
    assert outcome.code == 3
    assert "do not fit" in outcome.out
    assert (tmp_path / "moved.ply").is_file()


def test_an_ambiguous_answer_exits_with_3(run, tmp_path: Path) -> None:
    corners = torch.tensor([[x, y, z] for x in (0.0, 1) for y in (0.0, 1) for z in (0.0, 1)])
    write_points(tmp_path / "cube.ply", corners)
    outcome = run("register", tmp_path / "cube.ply", tmp_path / "cube.ply", "--method", "frames-gicp")
    assert outcome.code == 3
    assert "ambiguous" in outcome.out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--method", "frames-gcip"), "Did you mean 'frames-gicp'"),
        (("-o", "moved.stl"), ".ply"),
        (("--json", "nowhere/result.json"), "Choose another place"),
        (("--picture", "nowhere/fit.png"), "a folder that exists"),
        (("--picture", "fit.qqq"), "Name a .png file"),
        (("--html", "nowhere/report.html"), "Choose another place"),
        (("--device", "cuda"), "is not on this machine"),
    ],
)
def test_bad_words_are_one_line_and_exit_with_2(run, files, words: tuple[str, str], message: str) -> None:
    if "cuda" in words and torch.cuda.is_available():
        pytest.skip("there is a GPU here")
    outcome = run("register", files.source, files.target, *words)
    assert outcome.code == 2
    assert message in outcome.err
    assert outcome.err.count("\n") == 1
    assert "Traceback" not in outcome.err


@pytest.mark.parametrize("content", [b"", b"\x89PNG\r\n", b"ply\nformat ascii 1.0\nelement vertex 9\n", b"1 2 3"])
def test_bad_files_are_one_line_and_exit_with_2(run, files, tmp_path: Path, content: bytes) -> None:
    bad = tmp_path / "bad.ply"
    bad.write_bytes(content)
    outcome = run("register", bad, files.target)
    assert outcome.code == 2
    assert "bad.ply" in outcome.err
    assert outcome.err.count("\n") == 1


def test_a_missing_file_suggests_its_neighbor(run, files, tmp_path: Path) -> None:
    outcome = run("register", tmp_path / "sorce.ply", files.target)
    assert outcome.code == 2
    assert "source.ply" in outcome.err


def test_debug_shows_the_traceback(run, files, tmp_path: Path) -> None:
    outcome = run("register", tmp_path / "none.ply", files.target, "--debug")
    assert outcome.code == 2
    assert "Traceback" in outcome.err


def test_a_fault_of_ours_exits_with_1(run, files, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("deepume.cli.register.register", lambda *_, **__: 1 / 0)
    outcome = run("register", files.source, files.target)
    assert outcome.code == 1
    assert "ZeroDivisionError" in outcome.err
    assert "Traceback" not in outcome.err


def test_json_is_plain_json(run, files, tmp_path: Path) -> None:
    run("register", files.source, files.target, "--json", tmp_path / "result.json")
    plain = json.loads((tmp_path / "result.json").read_text())
    assert np.array(plain["target_from_source"]["matrix"]).shape == (4, 4)
    assert 0 <= plain["confidence"] <= 1
    assert np.array(plain["covariance"]).shape == (6, 6)


def test_effort_and_time_limit_are_flags(run, files) -> None:
    outcome = run("register", files.source, files.target, "--quiet", "--effort", "fast", "--time-limit", "5")
    assert error_deg(np.loadtxt(io.StringIO(outcome.out)), files.truth) < 1
    assert run("register", files.source, files.target, "--effort", "quick").code == 2
    assert run("register", files.source, files.target, "--method", "pca", "--effort", "fast").code == 2


def test_points_that_were_dropped_do_not_spoil_the_picture(run, files, tmp_path: Path) -> None:
    points = read_points(files.target)
    points[3] = torch.nan
    write_points(tmp_path / "holes.ply", points)
    words = ("--drop-invalid", "--picture", tmp_path / "fit.png")
    assert run("register", files.source, tmp_path / "holes.ply", *words).code == 0
    assert (tmp_path / "fit.png").is_file()


def test_the_report_holds_the_pose_and_the_command(run, files, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    words = ["register", str(files.source), str(files.target), "--html", str(tmp_path / "a report.html")]
    monkeypatch.setattr("sys.argv", ["deepume", *words])
    assert run(*words, "--json", tmp_path / "result.json").code == 0
    page = (tmp_path / "a report.html").read_text()
    result = Registration.from_json((tmp_path / "result.json").read_text())
    assert str(result.target_from_source.matrix.tolist()) in page
    assert html.escape(f"--html '{tmp_path}/a report.html'") in page


@pytest.mark.parametrize(("command", "package"), [("register", "plotly.offline"), ("view", "viser")])
def test_a_missing_viewer_is_one_line_that_names_the_extra(
    run, files, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str, package: str
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    words = ("--html", tmp_path / "report.html") if command == "register" else ()
    outcome = run(command, files.source, files.target, *words)
    assert (outcome.code, outcome.err) == (2, 'deepume: pip install "deepume[viewer]"\n')
