import re
from dataclasses import replace
from pathlib import Path

import pytest

from deepume.benchmark import get_suite, read_record, run_suite
from deepume.benchmark.records.figures import FIGURES, draw_figure
from deepume.benchmark.records.page import write_report
from deepume.benchmark.records.pair_pictures import PICTURES, draw_picture
from deepume.benchmark.records.record import make_record, write_record
from deepume.benchmark.session import Session
from deepume.benchmark.suites.suite import Suite
from deepume.datasets import Scenario
from deepume.errors import FileFormatError

RESULTS = Path(__file__).parents[2] / "results"
PNG = b"\x89PNG"
METHODS = ("identity", "truth-icp", "half-turn-gicp")


def small(name: str) -> Suite:
    return get_suite(name, has_data=False).narrowed(methods=METHODS, points=(64,), pairs=2)


@pytest.mark.parametrize("name", list(FIGURES))
def test_every_figure_is_drawn_only_from_rows_and_the_same_each_time(name: str) -> None:
    suite = small(name)
    rows = run_suite(replace(suite, methods=("identity", "half-turn-gicp")), None)
    picture = draw_figure(name, rows)
    assert picture is not None
    assert picture.startswith(PNG)
    assert picture == draw_figure(name, rows)


@pytest.mark.parametrize("name", list(PICTURES))
def test_every_picture_is_drawn_beside_its_record(name: str, tmp_path: Path) -> None:
    draw_picture(small(name), None, tmp_path / f"{name}.json")
    assert (tmp_path / f"{name}.png").read_bytes().startswith(PNG)


def test_tables_have_no_figure() -> None:
    assert draw_figure("T1", run_suite(small("T1"), None)) is None


def test_the_page_shows_every_record_and_needs_no_network(tmp_path: Path) -> None:
    for name in ("T2", "extremes", "sigma"):
        Session(f"deepume benchmark {name} --pairs 2 & <more>", record=tmp_path).run(small(name))
    page = write_report(tmp_path).read_text()
    for name in ("T2", "extremes", "sigma"):
        assert f'href="{name}.json"' in page
        assert f'id="{name}"' in page
    assert page.count("data:image/png;base64") == 2  # the curves of sigma, the clouds of extremes
    assert not re.findall(r"https?://", page)
    assert "&amp; &lt;more&gt;" in page
    assert 'name="viewport"' in page
    assert "Not measured yet: T1, T3, T4" in page
    for row in read_record(tmp_path / "T2.json").rows:
        assert f">{row.method}<" in page


def test_published_figures_are_on_the_page(tmp_path: Path) -> None:
    suite = small("T2")
    rows = [
        replace(row, method="deepume-paper", set="stanford", points=1024)
        for row in run_suite(suite, None)
        if row.method == "truth-icp" and row.scenario == Scenario.ZERO
    ]
    write_record(make_record(suite, rows, "deepume benchmark T2", tmp_path / "none"), tmp_path / "T2.json")
    page = write_report(tmp_path).read_text()
    assert [f'<td class="paper">{figure}</td>' in page for figure in ("5.625", "0.002", "0.110", "0.010")] == [True] * 4


def test_a_folder_without_records_says_how_to_make_one(tmp_path: Path) -> None:
    with pytest.raises(FileFormatError, match="deepume benchmark quick"):
        write_report(tmp_path)


def test_the_committed_page_shows_every_committed_record() -> None:
    page = (RESULTS / "index.html").read_text()
    for path in RESULTS.glob("*.json"):
        assert f'href="{path.name}"' in page
        assert read_record(path).commit in page
