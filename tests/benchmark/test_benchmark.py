import re
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from deepume.api import list_methods
from deepume.benchmark import SUITES, Suite, read_record, run_suite, to_markdown, write_record
from deepume.benchmark.records.record import LEDGER, TEST_SETS, make_record
from deepume.benchmark.rows.measure import measure_pair
from deepume.benchmark.rows.references import REFERENCES
from deepume.benchmark.rows.resampling import RESAMPLER, resampling_distance
from deepume.benchmark.rows.statistics import (
    CONFIDENCE,
    OPTIONAL,
    STATISTICS,
    bootstrap_draws,
    pooled_calibration_error,
    summarize,
)
from deepume.datasets import Law, PairKey, ProceduralSet, Scenario, make_pair
from deepume.errors import DeepumeError, UnknownNameError
from deepume.networks.loading import load_network

RESULTS = Path(__file__).parents[2] / "results"
SMALL = Suite("small", "for tests", ("identity", "pca", "truth-icp"), ("procedural",), points=(64,), pairs=4)


def figures_without_times(rows: list) -> list:
    return [{name: value for name, value in row.figures.items() if "milliseconds" not in name} for row in rows]


def test_a_run_gives_the_same_numbers_again() -> None:
    assert figures_without_times(run_suite(SMALL, None)) == figures_without_times(run_suite(SMALL, None))


def test_the_default_method_gives_the_same_numbers_again_whoever_does_the_work() -> None:
    noisy = replace(SMALL, methods=("auto",), scenarios=(Scenario.GAUSSIAN, Scenario.ZERO), points=(256,))
    one, two = (figures_without_times(run_suite(noisy, None, workers=count)) for count in (1, 2))
    assert one == two


def test_a_row_does_not_depend_on_the_other_methods() -> None:
    single = run_suite(replace(SMALL, methods=("pca",)), None)
    beside = [row for row in run_suite(SMALL, None) if row.method == "pca"]
    assert figures_without_times(single) == figures_without_times(beside)


def test_progress_hears_of_every_pair() -> None:
    heard: list[str] = []
    run_suite(SMALL, None, lambda name, figures: heard.append(name))
    assert heard == ["identity"] * 4 + ["pca"] * 4 + ["truth-icp"] * 4


def test_noise_free_pairs_are_solved_exactly_and_identity_is_not() -> None:
    rows = run_suite(replace(SMALL, scenarios=(Scenario.NOISE_FREE,)), None)
    by_method = {row.method: row.figures for row in rows}
    assert by_method["truth-icp"]["rotation_mean_deg"].value < 1e-6
    assert by_method["truth-icp"]["right"].value == 1
    assert by_method["identity"]["rotation_mean_deg"].value > 20


def test_a_pair_is_as_close_as_the_truth_up_to_two_percent() -> None:
    condition = next(SMALL.conditions())
    key = PairKey("procedural", Scenario.ZERO, Law.HAAR, 64, 1)
    measured = measure_pair("pca", make_pair(ProceduralSet(size=64), key))
    pairs = [replace(measured, chamfer_ratio=ratio) for ratio in (0.9, 1.019, 1.03, 2.0)]
    row = summarize("pca", condition, pairs)[0]
    assert row.figures["as_close_as_truth"].value == 0.5
    older = replace(row, figures={name: value for name, value in row.figures.items() if name != "as_close_as_truth"})
    assert "≤ 1.02" in to_markdown([row])
    assert "≤ 1.02" not in to_markdown([row, older])


def test_unknown_methods_and_empty_suites_are_refused() -> None:
    with pytest.raises(UnknownNameError, match="pca"):
        run_suite(replace(SMALL, methods=("pcaa",)), None)
    with pytest.raises(DeepumeError, match="empty"):
        replace(SMALL, methods=())


def test_methods_with_something_missing_are_skipped_with_a_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("deepume.networks.published_files.read_table", dict)
    load_network.cache_clear()
    monkeypatch.setitem(sys.modules, "kiss_matcher", None)
    suite = replace(SMALL, methods=("kiss-matcher", "pca", "dcp"), laws=(Law.HAAR, Law.EULER_60))
    skipped: list[tuple[str, str]] = []
    rows = run_suite(suite, None, skip=lambda name, reason: skipped.append((name, reason)))
    assert [row.method for row in rows] == ["pca", "pca"]
    assert [name for name, _ in skipped] == ["kiss-matcher", "dcp"]
    assert "deepume[bench]" in skipped[0][1]
    assert "deepume train dcp" in skipped[1][1]


def test_the_suite_of_all_methods_names_each_and_spreads_its_pairs() -> None:
    suite = SUITES["methods"]
    assert set(list_methods()) <= set(suite.methods)
    assert (suite.pairs_of("stanford"), suite.pairs_of("faust")) == (60, 44)
    condition = next(suite.conditions())
    for size, pairs in ((240, 60), (11, 44)):
        keys = condition.keys(ProceduralSet(size=size), pairs, 0, suite.stride)
        assert len({(key.index, key.seed) for key in keys}) == pairs
        assert len({key.index for key in keys}) == min(size, pairs)
        assert max(key.index for key in keys) >= size - suite.stride


@pytest.mark.parametrize("every", [1, 2, 4])
def test_a_thinned_suite_measures_some_of_the_same_pairs_of_all_shapes(every: int) -> None:
    suite = SUITES["network"]
    few, condition = suite.thinned(every), next(suite.conditions())
    for name, size in (("stanford", 240), ("faust", 11)):
        shapes = ProceduralSet(size=size)
        chosen = condition.keys(shapes, few.pairs_of(name), 0, few.stride)
        assert set(chosen) <= set(condition.keys(shapes, suite.pairs_of(name), 0, suite.stride))
        assert len(chosen) == suite.pairs_of(name) / every
        assert len({key.index for key in chosen}) == min(size, len(chosen))


def test_a_suite_can_be_kept_to_some_of_its_scenarios() -> None:
    network = SUITES["network"]
    for names in ((Scenario.DENSITY,), (Scenario.ZERO, Scenario.GAUSSIAN)):
        assert list(network.within(names).conditions()) == [c for c in network.conditions() if c.scenario in names]
    assert network.within(()) == network
    with pytest.raises(UnknownNameError, match="overlap"):
        network.within(("overlap",))


@pytest.mark.parametrize("name", [name for name in REFERENCES if name.startswith("truth")])
def test_refinement_from_the_truth_stays_near_it(name: str) -> None:
    key = PairKey("procedural", Scenario.ZERO, Law.HAAR, 512, 4, 0)
    assert measure_pair(name, make_pair(ProceduralSet(), key)).rotation_deg < 3


def test_half_a_turn_is_right_for_a_box_and_wrong_for_an_airplane() -> None:
    shapes = ProceduralSet()
    for family, right in (("box", 1), ("airplane", 0)):
        index = next(index for index in range(len(shapes)) if shapes.label(index) == family)
        key = PairKey("procedural", Scenario.ZERO, Law.EULER_FULL, 512, index, 0)
        figures = measure_pair("half-turn-gicp", make_pair(shapes, key))
        assert figures.rotation_deg > 170
        assert figures.right == right


def test_where_a_sampling_thins_out_a_wrong_pose_that_fits_as_well_as_the_truth_is_still_wrong() -> None:
    keys = (PairKey("procedural", Scenario.DENSITY, Law.HAAR, 64, index, 0) for index in range(12))
    figures = [measure_pair("frames-icp", make_pair(ProceduralSet(), key)) for key in keys]
    misled = [each for each in figures if each.rotation_deg > 10 and each.chamfer_ratio < 1]
    assert len(misled) > 2
    assert not any(each.right for each in misled)


def test_intervals_hold_the_value_and_draw_whole_shapes() -> None:
    for row in run_suite(SMALL, None):
        for figure in row.figures.values():
            assert figure.low <= figure.value + 1e-9
            assert figure.value <= figure.high + 1e-9
    shapes = np.array([0, 0, 1, 1, 1])
    for draw in bootstrap_draws(shapes)[:50]:
        counts = np.bincount(draw, minlength=5)
        assert counts[0] == counts[1]
        assert counts[2] == counts[3] == counts[4]


def test_records_round_trip_and_runs_on_test_sets_are_counted(tmp_path: Path) -> None:
    rows = run_suite(SMALL, None)
    ledger = tmp_path / LEDGER
    record = make_record(SMALL, rows, "deepume benchmark small", ledger)
    write_record(record, tmp_path / "a.json")
    assert read_record(tmp_path / "a.json") == record
    assert not ledger.exists()
    looked = replace(record, rows=[replace(row, set="faust") for row in rows])
    write_record(looked, tmp_path / "b.json")
    assert make_record(SMALL, rows, "", ledger).test_runs_before == 1


def test_a_record_has_six_digits_and_a_line_for_each_figure(tmp_path: Path) -> None:
    write_record(make_record(SMALL, run_suite(SMALL, None), "command", tmp_path / LEDGER), tmp_path / "a.json")
    figures = re.findall(r'^ +"\w+": \[(\S+), (\S+), (\S+)\],?$', (tmp_path / "a.json").read_text(), re.MULTILINE)
    assert len(figures) == sum(len(row.figures) for row in read_record(tmp_path / "a.json").rows)
    for number in (number for figure in figures for number in figure):
        assert len(re.sub(r"e.*|\D", "", number).lstrip("0")) <= 6 + number.endswith(".0")


REFERENCE_ROWS = {"identity", "pca", "frames-gicp", "truth-gicp"}


@pytest.mark.parametrize("suite", SUITES.values(), ids=lambda suite: suite.name)
def test_every_table_has_rows_to_compare_with(suite: Suite) -> None:
    assert set(suite.methods) >= REFERENCE_ROWS


def test_tables_name_every_method_and_condition() -> None:
    text = to_markdown(run_suite(SMALL, None))
    assert "procedural, zero, haar, 64 points, 4 pairs" in text
    assert all(f"| {name} |" in text for name in SMALL.methods)


@pytest.mark.parametrize("path", sorted(RESULTS.glob("*.json")), ids=lambda path: path.name)
def test_published_records_are_complete(path: Path) -> None:
    record = read_record(path)
    assert record.suite in SUITES
    assert record.command.startswith(("deepume benchmark", "python -m deepume.benchmark"))
    assert len(record.commit) >= 7
    assert "dirty" not in record.commit
    assert record.versions["torch"] != "not installed"
    assert {row.method for row in record.rows} >= REFERENCE_ROWS
    for row in record.rows:
        assert set(STATISTICS) - OPTIONAL <= set(row.figures) <= set(STATISTICS)
        assert row.pairs >= 1
    if any(row.set in TEST_SETS for row in record.rows):
        assert record.date in (RESULTS / LEDGER).read_text()


def test_a_stated_confidence_is_compared_with_what_is_right() -> None:
    suite = replace(SMALL, methods=("auto", "auto-fast", "auto-unlearned", "pca"), pairs=2)
    for row in run_suite(suite, None):
        assert (set(row.figures) >= CONFIDENCE) == row.method.startswith("auto")
        assert row.figures["right"].value == 1
        assert bool(row.gaps) == row.method.startswith("auto")
        if row.gaps:
            assert pooled_calibration_error([row]) == pytest.approx(row.figures["calibration_error"].value, abs=1e-4)
    different = run_suite(replace(suite, methods=("auto",), scenarios=(Scenario.DIFFERENT,)), None)[0]
    assert different.figures["right"].value == 0


def test_what_is_stated_too_high_here_and_too_low_there_evens_out_over_all_test_sets() -> None:
    row = replace(run_suite(SMALL, None)[0], set="faust", gaps=[0.0] * 8 + [1.0, -0.4], pairs=4)
    other = replace(row, set="stanford", gaps=[0.0] * 8 + [-1.0, -0.2], pairs=2)
    aside = [replace(row, set="procedural"), replace(row, scenario="different"), replace(row, method="pca", gaps=[])]
    assert pooled_calibration_error([row, other]) == pytest.approx(0.1)
    text = to_markdown([row, other, *aside])
    assert "**faust, stanford: confidence over all pairs of one object**" in text
    assert "| identity | 6 | 0.100 |" in text
    assert "over all pairs" not in to_markdown([row, *aside])


def test_a_wrong_pose_that_brings_parts_closer_than_the_truth_is_not_right(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("deepume.benchmark.rows.measure.is_right", lambda *given: True)
    for scenario, right in ((Scenario.ZERO, 1), (Scenario.OVERLAP, 0), (Scenario.OUTLIERS, 0), (Scenario.DIFFERENT, 0)):
        pair = make_pair(ProceduralSet(), PairKey("procedural", scenario, Law.HAAR, 64, 0, 0))
        assert measure_pair("identity", pair).right == right


def test_the_default_suite_covers_every_size_and_kind_of_pair() -> None:
    conditions = list(SUITES["default"].conditions())
    assert len(set(conditions)) == len(conditions)
    assert {each.points for each in conditions} == {64, 128, 256, 1024}
    assert {each.set for each in conditions} == {"stanford", "faust", "modelnet40-test", "procedural"}
    assert Scenario.DIFFERENT in {each.scenario for each in conditions}


def test_large_classes_have_rows_of_their_own_and_small_ones_one_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("deepume.benchmark.rows.statistics.LARGE_CLASS", 2)
    families = len({ProceduralSet().label(index) for index in range(len(ProceduralSet()))})
    suite = replace(SMALL, methods=("identity",), pairs=families + 2, by_class=("procedural",))
    whole, *parts = run_suite(suite, None)
    assert whole.pairs == families + 2
    assert {row.set: row.pairs for row in parts if "other" not in row.set} == {
        f"procedural, {ProceduralSet().label(index)}": 2 for index in range(2)
    }
    assert sum(row.pairs for row in parts) == whole.pairs


def test_the_lines_for_machines_without_the_command_line_measure_and_keep_a_record(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = re.search(r"```python\n(.*?)```", (RESULTS.parent / "docs" / "reproduction.md").read_text(), re.DOTALL)
    assert lines is not None
    few = SUITES["quick"].narrowed(methods=("identity", "pca", "dcp"), points=(64,), pairs=2)
    monkeypatch.setitem(SUITES, "T2", replace(few, name="T2"))
    monkeypatch.chdir(tmp_path)
    exec(lines[1].replace('"cuda"', '"cpu"'), {})
    printed = capsys.readouterr().out
    assert "| pca |" in printed
    assert "dcp" in printed
    assert {row.method for row in read_record(tmp_path / "results" / "T2.json").rows} == {"identity", "pca"}


def test_resampling_is_measured_in_the_unit_of_the_clouds_and_shown_where_it_is() -> None:
    pair = make_pair(ProceduralSet(), PairKey("procedural", Scenario.ZERO, Law.HAAR, 128, 0, 0))
    large = replace(pair, source=10 * pair.source, target=10 * pair.target)
    near, far = resampling_distance(pair), resampling_distance(large)
    assert near > 0
    assert far == pytest.approx(100 * near, rel=1e-3)
    rows = run_suite(replace(SMALL, methods=("identity", RESAMPLER), pairs=2), None)
    assert ["resampling_chamfer" in row.figures for row in rows] == [False, True]
    assert "d_C resampled" in to_markdown(rows)
    assert "d_C resampled" not in to_markdown(rows[:1])
