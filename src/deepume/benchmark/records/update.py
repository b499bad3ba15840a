"""A record brought up to date for some methods, while the rows of all others stay and tell where they come from."""

from __future__ import annotations

from dataclasses import replace

from deepume.benchmark.records.record import Earlier, Record
from deepume.benchmark.rows.statistics import Row
from deepume.benchmark.suites.our_suites import SUITES
from deepume.errors import DeepumeError

Block = tuple[str, str]
"""A method and a scenario."""


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
    kept = dict.fromkeys(_block(row) for key, row in before.items() if key not in fresh)
    rows = _in_order(new.suite, before | fresh)
    return replace(new, rows=rows, earlier=_still_there(old, list(kept), [_block(row) for row in rows]))


def _in_order(suite: str, rows: dict[tuple[object, ...], Row]) -> list[Row]:
    """Rows block by block, as the blocks first appear, and within one in the order of the suite's methods."""
    blocks = {block: place for place, block in enumerate(dict.fromkeys(key[1:] for key in rows))}
    methods = {name: place for place, name in enumerate(SUITES[suite].methods)} if suite in SUITES else {}
    ranked = sorted(rows, key=lambda key: (blocks[key[1:]], methods.get(str(key[0]), len(methods))))
    return [rows[key] for key in ranked]


def _still_there(old: Record, kept: list[Block], all_blocks: list[Block]) -> list[Earlier]:
    """The runs that measured the rows which are left, each with the names of these."""
    runs, own = [], dict.fromkeys(kept)
    for run in old.earlier:
        left = [block for block in kept if _covers(run, block)]
        own = dict.fromkeys(block for block in own if block not in left)
        runs.append(replace(run, methods=_names(left, all_blocks)))
    runs.append(Earlier(_names(list(own), all_blocks), old.command, old.commit, old.date, old.hardware))
    return [run for run in runs if run.methods]


def _names(blocks: list[Block], all_blocks: list[Block]) -> list[str]:
    """Names of the methods, each with its scenarios in brackets where a run measured some of them only."""
    names = []
    for method in dict.fromkeys(method for method, _ in blocks):
        measured = dict.fromkeys(scenario for name, scenario in blocks if name == method)
        every = {scenario for name, scenario in all_blocks if name == method}
        names.append(method if measured.keys() == every else f"{method} ({', '.join(measured)})")
    return names


def _covers(run: Earlier, block: Block) -> bool:
    """Whether the run is the one that measured a method in a scenario."""
    method, scenario = block
    named = [name.partition(" (") for name in run.methods]
    return any(name == method and (not rest or scenario in rest[:-1].split(", ")) for name, _, rest in named)


def _block(row: Row) -> Block:
    return row.method, str(row.scenario)


def _key(row: Row) -> tuple[object, ...]:
    return row.method, row.set, row.scenario, row.law, row.points, tuple(sorted(row.parameters.items()))
