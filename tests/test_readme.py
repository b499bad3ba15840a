"""What the README says is true: its code runs, its commands exist, its table is that of the record."""

import re
from pathlib import Path

import pytest

from deepume.benchmark import read_record
from deepume.cli.main import main

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()


def test_the_first_lines_of_python_run_after_the_demo(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as stop:
        main(["demo"])
    assert stop.value.code == 0
    code = re.findall(r"```python\n(.*?)```", README, re.DOTALL)[0]
    exec(compile(code, "README.md", "exec"), {})
    assert "The source is turned by" in capsys.readouterr().out


def test_the_commands_exist() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    assert set(re.findall(r"^make ([a-z-]+)", README, re.MULTILINE)) <= targets
    commands = set(re.findall(r"^deepume ([a-z]+)", README, re.MULTILINE))
    for command in commands:
        with pytest.raises(SystemExit) as stop:
            main([command, "--help"])
        assert stop.value.code == 0


ROWS = {"auto": "`auto`, the default", "ransac": "RANSAC", "truth-gicp": "the floor"}


@pytest.mark.parametrize("method", list(ROWS))
def test_the_table_is_that_of_the_record(method: str) -> None:
    line = next(line for line in README.splitlines() if line.startswith("|") and ROWS[method] in line)
    figures = {
        (row.set, row.scenario, row.points): row.figures
        for row in read_record(ROOT / "results" / "default.json").rows
        if row.method == method
    }
    for name in ("stanford", "faust"):
        dense, noisy, sparse = (figures[name, *key] for key in (("zero", 1024), ("gaussian", 1024), ("zero", 128)))
        assert f"{dense['recall_10_deg'].value * 100:.0f} %, {dense['rotation_median_deg'].value:.2f}°" in line
        assert f"{sparse['recall_10_deg'].value * 100:.0f} %" in line
        assert f"{noisy['rotation_median_deg'].value:.2f}°" in line


def test_linked_files_are_there() -> None:
    for link in re.findall(r"\]\(([^)#:]+)\)", README):
        assert (ROOT / link).is_file(), link


def test_pictures_are_used_and_small() -> None:
    texts = "".join(path.read_text() for path in [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])
    for picture in (ROOT / "docs" / "pictures").iterdir():
        assert picture.name in texts
        assert picture.stat().st_size < 300_000, picture
