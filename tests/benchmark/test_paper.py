import re
from dataclasses import replace
from pathlib import Path

import pytest

from deepume.benchmark import SUITES, Suite, get_suite, read_record, run_suite, to_markdown
from deepume.benchmark.records.published import METRICS, published, published_rows
from deepume.benchmark.records.tables import Mark, make_tables
from deepume.benchmark.rows.statistics import STATISTICS, Figure, Row
from deepume.benchmark.session import find_suites
from deepume.benchmark.suites.paper_suites import PAPER_SUITES, TABLES
from deepume.datasets import Law, Scenario
from deepume.errors import DeepumeError

CHEAP = ("identity", "truth-icp", "paper-mlp-head", "rgm")
FIGURES = {name: Figure(0.5, 0.4, 0.6) for name in STATISTICS}


def row_of(method: str, **changes) -> Row:
    return replace(Row(method, "stanford", "zero", "euler-full", 1024, 240, FIGURES), **changes)


def test_the_papers_figures_stand_beside_the_same_condition_only() -> None:
    small = row_of("dcp-60", law="euler-60")
    assert published(small, "rmse_r_paper") == "71.307"
    assert published(row_of("rgm"), "rmse_r_paper") == "104.872"
    assert published(row_of("deepume-paper"), "hausdorff_squared") == "0.110"
    assert published(row_of("ume-3", law="euler-60", scenario="noise-free"), "rmse_t_paper") == "<5e-06"
    for other in (
        replace(small, law="euler-full"),
        replace(small, method="pca"),
        replace(small, set="procedural"),
        replace(small, points=512),
        replace(small, parameters={"std": 0.09}),
    ):
        assert published(other, "rmse_r_paper") is None


def test_a_figure_with_a_unit_stands_beside_the_same_unit_only() -> None:
    in_meters, in_sphere = (row_of("deepume-paper", set=name) for name in ("faust-meters", "faust"))
    assert published(in_meters, "chamfer_squared") == "0.002"
    assert published(in_sphere, "chamfer_squared") is None
    assert published(in_sphere, "rmse_r_paper") == published(in_meters, "rmse_r_paper") == "8.630"


def test_every_published_row_has_a_place_in_a_table_of_ours() -> None:
    places = {
        (each.set, str(each.scenario), str(each.law), name.removesuffix("-60"))
        for suite in TABLES
        for each in suite.conditions()
        for name in suite.methods
    }
    assert len(published_rows()) == 63  # 64 rows are printed; the whole network on FAUST stands in two tables
    assert set(published_rows()) <= places
    for figures in published_rows().values():
        for metric in METRICS:
            assert re.fullmatch(r"<?[\d.]+(e-\d+)?|N/A", figures[metric])


def test_published_figures_appear_in_the_column_next_to_ours() -> None:
    table = make_tables([row_of("deepume-paper"), row_of("pca")])[0]
    shown = {
        ours: (first.text, second.text, other.text)
        for ours, first, second, other in zip(
            table.head[:-1], table.body[0][:-1], table.body[0][1:], table.body[1][1:], strict=True
        )
        if ours in ("RMSE(R)", "d_C", "d_H", "RMSE(t)")
    }
    assert {name: cells[1:] for name, cells in shown.items()} == {
        "RMSE(R)": ("5.625", ""),
        "d_C": ("0.002", ""),
        "d_H": ("0.110", ""),
        "RMSE(t)": ("0.010", ""),
    }
    assert "paper" not in make_tables([row_of("pca")])[0].head


def test_the_best_is_bold_the_second_underlined_and_the_floor_does_not_compete() -> None:
    errors = {"pca": 3.0, "ume": 1.0, "icp": 2.0, "frames-gicp": 1.0, "truth-gicp": 0.1}
    rows = [
        row_of(name, figures=FIGURES | {"rotation_median_deg": Figure(value, value, value)})
        for name, value in errors.items()
    ]
    table = make_tables(rows)[0]
    column = [line[table.head.index("median°")] for line in table.body]
    assert [cell.mark for cell in column] == [Mark.NONE, Mark.BEST, Mark.SECOND, Mark.BEST, Mark.NONE]
    text = to_markdown(rows)
    assert "**1.00**" in text
    assert "<u>2.00</u>" in text
    assert "**0.10**" not in text


def test_high_recall_is_better_than_low() -> None:
    rows = [
        row_of(name, figures=FIGURES | {"recall_10_deg": Figure(value, 0, 1)})
        for name, value in (("pca", 0.2), ("ume", 0.9))
    ]
    assert [line[1].mark for line in make_tables(rows)[0].body] == [Mark.SECOND, Mark.BEST]


@pytest.mark.parametrize("name", [suite.name for suite in PAPER_SUITES])
def test_every_suite_of_the_paper_runs_on_procedural_shapes(name: str) -> None:
    suite = get_suite(name, has_data=False).narrowed(methods=CHEAP, points=(64,), pairs=2)
    rows = run_suite(suite, None)
    conditions = list(suite.conditions())
    assert {(row.set, row.scenario, tuple(row.parameters.items())) for row in rows if "," not in row.set} == {
        ("procedural", each.scenario, each.parameters) for each in conditions
    }
    assert {row.method for row in rows} == {"identity", "truth-icp", "paper-mlp-head"}


def test_every_table_of_the_paper_has_the_rows_to_compare_with() -> None:
    for suite in TABLES:
        assert {"identity", "pca", "frames-gicp", "auto", "truth-gicp", "deepume-paper"} <= set(suite.methods)
        assert {each.law for each in suite.conditions()} == {Law.EULER_60 if suite.name == "T3" else Law.EULER_FULL}


def test_large_clouds_are_left_to_closed_forms() -> None:
    suite = SUITES["density"]
    largest = max(suite.conditions(), key=lambda each: each.points)
    assert largest.points == 44000
    assert suite.methods_of(largest) == ["identity", "pca", "ume", "ume-3"]
    assert suite.methods_of(next(suite.conditions())) == list(suite.methods)
    assert max(each.points for each in get_suite("density", has_data=False).conditions()) == 4096


def test_all_is_everything_of_the_paper_and_each_once() -> None:
    names = [suite.name for suite in find_suites(("T2", "all", "quick", "T2"), has_data=True)]
    assert names[0] == "T2"
    assert names[-1] == "quick"
    assert sorted(names[:-1]) == sorted(suite.name for suite in PAPER_SUITES)


def test_the_noise_suite_takes_the_papers_figure_both_ways() -> None:
    conditions = list(SUITES["noise"].conditions())
    noises = {dict(each.parameters)["std"] for each in conditions if each.parameters}
    assert {0.09, 0.3} <= noises
    assert Scenario.ZERO in {each.scenario for each in conditions}


def test_a_sweep_over_what_a_scenario_does_not_have_is_refused() -> None:
    first = next(SUITES["sigma"].conditions())
    suite = Suite("odd", "", ("identity",), ("procedural",), further=(replace(first, scenario=Scenario.ZERO),), pairs=1)
    with pytest.raises(DeepumeError, match="std"):
        run_suite(replace(suite.narrowed(sets=("procedural",), points=(64,)), sweep_only=True), None)


def test_the_csv_is_in_the_package() -> None:
    assert (Path(__file__).parents[2] / "src" / "deepume" / "benchmark" / "records" / "paper.csv").is_file()


DOCS = (Path(__file__).parents[2] / "docs" / "reproduction.md").read_text()
CORE = Path(__file__).parents[2] / "results" / "core.json"
RECORDS = {path.stem for path in (Path(__file__).parents[2] / "results").glob("*.json")}


def test_the_docs_name_every_suite_and_tell_which_have_no_record_yet() -> None:
    missing = re.search(r"\*\*There is no record yet of (.*?)\*\*", DOCS, re.DOTALL)
    told = set() if missing is None else set(re.findall(r"\w+", missing[1])) - {"or"}
    assert told == {suite.name for suite in PAPER_SUITES} - RECORDS
    for suite in PAPER_SUITES:
        assert f"| `{suite.name}` |" in DOCS


def test_our_figures_in_the_docs_are_those_of_the_record() -> None:
    rows = {(row.method, row.set): row.figures["rmse_r_paper"].value for row in read_record(CORE).rows}
    for name in ("pca", "frames-gicp", "truth-gicp"):
        lines = [line for line in DOCS.splitlines() if line.startswith(f"| `{name}`")]
        assert any(f"| {rows[name, 'stanford']:.2f} | {rows[name, 'faust']:.2f} |" in line for line in lines)


TABLE_COLUMNS = {
    "T1": [("modelnet40-test", scenario) for scenario in ("noise-free", "bernoulli", "gaussian")],
    "T2": [(name, "zero") for name in ("modelnet40-test", "faust-meters", "stanford")],
    "T3": [("stanford", scenario) for scenario in ("noise-free", "zero")],
    "T4": [("faust-meters", scenario) for scenario in ("zero", "gaussian")],
}
WORDS = {
    "no pre-processing": "paper-no-preprocessing",
    "features resampled": "paper-feature-resampling",
    "MLP head": "paper-mlp-head",
}


@pytest.mark.parametrize("table", list(TABLE_COLUMNS))
def test_our_figures_in_each_table_of_the_docs_are_those_of_its_record(table: str) -> None:
    section = re.search(rf"### Table {table[1]}.*?\n### ", DOCS, re.DOTALL)
    assert section is not None
    record = read_record(CORE.with_name(f"{table}.json"))
    ours = {(row.method, row.set, row.scenario): row.figures["rmse_r_paper"].value for row in record.rows}
    lines = [line.split("|")[1:-1] for line in section[0].splitlines() if line.startswith("| ")][1:]
    assert len(lines) >= 6
    for first, *cells in lines:
        named = re.search(r"`(\S+)`", first)
        method = named[1] if named else WORDS[first.strip()]
        for cell, (name, scenario) in zip(cells, TABLE_COLUMNS[table], strict=True):
            printed = re.match(r"[\d.]+", cell.strip())
            if printed is None:
                assert (method, name, scenario) not in ours
                continue
            digits = len(printed[0].partition(".")[2])
            assert float(printed[0]) == pytest.approx(ours[method, name, scenario], abs=0.5001 * 10**-digits), first
