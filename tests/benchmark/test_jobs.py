import sys
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from deepume.benchmark import Record, Suite, get_suite, read_record, run_suite
from deepume.benchmark.jobs import make_jobs
from deepume.benchmark.records.kept import SUFFIX, Kept
from deepume.benchmark.rows.measure import PairFigures, measure_pair
from deepume.benchmark.rows.statistics import Row
from deepume.benchmark.session import Session
from deepume.datasets import Law, Scenario, make_pair, open_set
from deepume.errors import DeepumeError

SMALL = Suite(
    "small",
    "for tests",
    ("identity", "pca", "frames-gicp", "deepume-small"),
    ("procedural",),
    (Scenario.ZERO, Scenario.BERNOULLI),
    points=(96,),
    pairs=7,
)


QUICK = SMALL.narrowed(methods=("identity", "pca"))
"""28 pairs."""


def without_times(rows: list[Row]) -> list[Row]:
    return [
        replace(row, figures={name: value for name, value in row.figures.items() if "milliseconds" not in name})
        for row in rows
    ]


def test_any_number_of_workers_gives_the_same_numbers() -> None:
    assert without_times(run_suite(SMALL, None, workers=2)) == without_times(run_suite(SMALL, None))


def test_threads_are_left_as_they_were() -> None:
    before = torch.get_num_threads()
    run_suite(SMALL.narrowed(methods=("identity",)), None)
    assert torch.get_num_threads() == before


def test_only_networks_leave_the_cpu() -> None:
    away = {job.method for job in make_jobs(SMALL, None, "cuda") if job.device == "cuda"}
    assert away == {"deepume-small"}


def test_methods_that_need_equal_sizes_get_clouds_as_they_were_drawn() -> None:
    suite = SMALL.narrowed(methods=("rgm-60",))
    pair = make_pair(open_set("procedural", None), make_jobs(suite, None, "cpu")[0].keys[0])
    repeated = replace(pair, source=torch.cat([pair.source[:-1], pair.source[:1]]))
    assert measure_pair("rgm-60", repeated).rotation_deg >= 0


def test_no_workers_are_refused() -> None:
    with pytest.raises(DeepumeError, match="worker"):
        run_suite(SMALL, None, workers=0)


def test_a_machine_without_the_compiled_package_measures_what_it_can(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "small_gicp", None)
    skipped: dict[str, str] = {}
    suite = replace(SMALL, methods=("identity", "truth-gicp"), points=(24,), scenarios=(Scenario.ZERO,), pairs=1)
    rows = run_suite(suite, None, skip=skipped.__setitem__)
    assert [row.method for row in rows] == ["identity"]
    assert skipped == {"truth-gicp": "small_gicp is not installed: pip install small_gicp"}


def test_jobs_cover_every_pair_of_every_method_once() -> None:
    jobs = make_jobs(SMALL, None, "cpu")
    done = [(job.method, job.condition, key) for job in jobs for key in job.keys]
    assert len(done) == len(set(done)) == 4 * 2 * 7
    assert len({job.text for job in jobs}) == len(jobs)


def interrupt_after(pairs: int, path: Path, commit: str) -> None:
    count = 0

    def hear(name: str, figures: PairFigures) -> None:
        nonlocal count
        count += 1
        if count == pairs:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_suite(QUICK, None, hear, kept=Kept(path, QUICK.name, commit))


def test_an_interrupted_run_goes_on_and_gives_the_same_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "small.json"
    interrupt_after(12, path, "abc")
    with path.with_name(path.name + SUFFIX).open("a") as file:
        file.write('["small abc pca procedural/zero')  # the last line was cut off
    done: list[str] = []
    monkeypatch.setattr(
        "deepume.benchmark.jobs.measure_pair", lambda name, pair: done.append(name) or measure_pair(name, pair)
    )
    rows = run_suite(QUICK, None, kept=Kept(path, QUICK.name, "abc"))
    assert 0 < len(done) <= 28 - 12
    assert without_times(rows) == without_times(run_suite(QUICK, None))


@pytest.mark.parametrize(
    ("suite", "commit"), [("small", "abd"), ("smal", "abc"), ("small", "abc-dirty"), ("small", "")]
)
def test_what_other_code_or_another_suite_left_is_not_used(tmp_path: Path, suite: str, commit: str) -> None:
    path = tmp_path / "small.json"
    interrupt_after(12, path, commit if commit in ("abc-dirty", "") else "abc")
    kept = Kept(path, suite, commit)
    assert not any(kept.get(job) for job in make_jobs(QUICK, None, "cpu"))


def small(name: str) -> Suite:
    return get_suite(name, has_data=False).narrowed(methods=("identity",), points=(64,), pairs=2)


def test_a_session_keeps_a_record_of_each_suite_and_nothing_else(tmp_path: Path) -> None:
    session = Session("deepume benchmark T2 sigma", record=tmp_path)
    for name in ("T2", "sigma"):
        rows = session.run(small(name))
        assert read_record(tmp_path / f"{name}.json").rows == rows
    session.finish()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["T2.json", "sigma.json"]


def read_record_after(session: Session, name: str, folder: Path) -> Record:
    session.run(small(name))
    return read_record(folder / f"{name}.json")


def test_a_continued_session_does_not_measure_what_it_has_recorded(tmp_path: Path) -> None:
    first, again = (Session("deepume benchmark T2 T3", record=tmp_path, commit="abc") for _ in range(2))
    before = read_record_after(first, "T2", tmp_path)
    assert before.commit == "abc"
    written = (tmp_path / "T2.json").stat().st_mtime_ns
    assert again.run(small("T2")) == before.rows  # times included: nothing was measured
    assert (tmp_path / "T2.json").stat().st_mtime_ns == written
    again.finish()
    later = Session("deepume benchmark T2 T3", record=tmp_path, commit="abc")
    assert read_record_after(later, "T2", tmp_path).rows != before.rows  # a new run is measured, with times of its own


def test_a_sweep_changes_its_parameter_and_nothing_else() -> None:
    suite = get_suite("noise", has_data=False).narrowed(methods=("identity", "truth-gicp"), points=(256,), pairs=4)
    rows = {tuple(row.parameters.values()): row for row in run_suite(suite, None) if row.method == "identity"}
    swept = [row for parameters, row in rows.items() if parameters]
    assert len({row.figures["rotation_mean_deg"] for row in swept}) == 1  # the same motions at every level of noise
    distances = [row.figures["chamfer_squared"].value for row in swept]
    assert len(set(distances)) == len(distances) == 9
    assert {row.law for row in swept} == {Law.EULER_FULL}


def test_an_updated_record_has_new_rows_of_some_methods_and_says_which_run_the_others_are_of(tmp_path: Path) -> None:
    path = tmp_path / "small.json"
    Session("first", record=path, commit="a" * 12).run(QUICK)
    again = QUICK.narrowed(methods=("pca",))
    Session("second", record=path, commit="b" * 12, update=True).run(again)
    record = read_record(path)
    assert [row.method for row in record.rows] == ["identity", "pca"] * 2
    assert (record.command, record.commit) == ("second", "b" * 12)
    assert [(run.methods, run.command, run.commit) for run in record.earlier] == [(["identity"], "first", "a" * 12)]
    Session("third", record=path, commit="c" * 12, update=True).run(QUICK.narrowed(methods=("identity",)))
    assert [(run.methods, run.command) for run in read_record(path).earlier] == [(["pca"], "second")]
    both = replace(QUICK, scenarios=(Scenario.ZERO, Scenario.GAUSSIAN))
    Session("all", record=path, commit="a" * 12).run(both)
    for name in ("zero", "gaussian"):
        Session(name, record=path, commit="b" * 12, update=True).run(both.within((name,)).narrowed(methods=("pca",)))
        runs = {run.command: run.methods for run in read_record(path).earlier}
        assert runs["all"] == (["identity", "pca (gaussian)"] if name == "zero" else ["identity"])
    assert runs["zero"] == ["pca (zero)"]
    named = replace(QUICK, name="quick", methods=("identity", "truth-gicp"))
    Session("some", record=path, commit="a" * 12).run(named)
    Session("one more", record=path, commit="a" * 12, update=True).run(replace(named, methods=("pca",)))
    assert [row.method for row in read_record(path).rows] == ["identity", "pca", "truth-gicp"] * 2
    Session("first", record=path, commit="a" * 12).run(QUICK)
    with pytest.raises(DeepumeError, match="7 pairs, now on 3"):
        Session("fewer", record=path, commit="d" * 12, update=True).run(replace(again, pairs=3))
    with pytest.raises(DeepumeError, match="--record"):
        Session("nowhere", update=True)
