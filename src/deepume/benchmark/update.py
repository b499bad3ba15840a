"""A record brought up to date for some methods, while the rows of all others stay and tell where they come from."""

from __future__ import annotations

from dataclasses import replace

from deepume.benchmark.record import Earlier, Record
from deepume.benchmark.statistics import Row
from deepume.benchmark.suites import SUITES
from deepume.errors import DeepumeError


def update_record(old: Record, new: Record) -> Record:
    """The new run's record with the rows that only the old one has, in the order of the suite.

    Both must have measured the same pairs: rows of others would not belong in one table.
    """
    if (old.suite, old.seed) != (new.suite, new.seed):
        raise DeepumeError(f"The record is of {old.suite}, seed {old.seed}, the run of {new.suite}, seed {new.seed}.")
    fresh, before = {_key(row): row for row in new.rows}, {_key(row): row for row in old.rows}
    for key in fresh.keys() & before.keys():
        if fresh[key].pairs != before[key].pairs:
            raise DeepumeError(
                f"{fresh[key].method} was measured on {before[key].pairs} pairs, now on {fresh[key].pairs}: "
                "measure the whole suite anew, or with the same --pairs and --every."
            )
    kept = dict.fromkeys(row.method for key, row in before.items() if key not in fresh)
    return replace(new, rows=_in_order(new.suite, before | fresh), earlier=_still_there(old, list(kept)))


def _in_order(suite: str, rows: dict[tuple[object, ...], Row]) -> list[Row]:
    """Rows block by block, as the blocks first appear, and within one in the order of the suite's methods."""
    blocks = {block: place for place, block in enumerate(dict.fromkeys(key[1:] for key in rows))}
    methods = {name: place for place, name in enumerate(SUITES[suite].methods)} if suite in SUITES else {}
    ranked = sorted(rows, key=lambda key: (blocks[key[1:]], methods.get(str(key[0]), len(methods))))
    return [rows[key] for key in ranked]


def _still_there(old: Record, kept: list[str]) -> list[Earlier]:
    """The runs that measured the rows which are left."""
    older = [replace(run, methods=[name for name in run.methods if name in kept]) for run in old.earlier]
    own = [name for name in kept if not any(name in run.methods for run in old.earlier)]
    return [run for run in (*older, Earlier(own, old.command, old.commit, old.date, old.hardware)) if run.methods]


def _key(row: Row) -> tuple[object, ...]:
    return row.method, row.set, row.scenario, row.law, row.points, tuple(sorted(row.parameters.items()))
