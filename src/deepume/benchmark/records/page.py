"""One page with every table and figure of the records in a folder; it needs no network."""

from __future__ import annotations

import base64
import html
from importlib import resources
from pathlib import Path

from deepume.benchmark.records.figures import draw_figure
from deepume.benchmark.records.record import Earlier, Record, read_record
from deepume.benchmark.records.tables import Cell, Table, make_tables
from deepume.benchmark.suites.our_suites import SUITES
from deepume.benchmark.suites.paper_suites import PAPER_SUITES
from deepume.errors import FileFormatError

PAGE = "index.html"
FOLDED = 8
"""Suites with more tables than this show them on demand."""

INTRODUCTION = """Every figure here comes from a record, which names the command, the code, the seed and the machine
that made it. Best in bold, second underlined; rows that start from the truth are out of competition. Columns headed
<i>paper</i> are what the paper prints under the same condition."""


def write_report(folder: Path) -> Path:
    """Write the page of a folder of records into that folder."""
    paths = sorted(folder.glob("*.json"))
    if not paths:
        raise FileFormatError(f"No record in {folder}. Make one: deepume benchmark quick --record {folder}/quick.json")
    page = folder / PAGE
    try:
        page.write_text(make_page({path: read_record(path) for path in paths}), encoding="utf-8")
    except OSError as error:
        raise FileFormatError(f"Cannot write {page}: {error.strerror}. Choose another place.") from error
    return page


def make_page(records: dict[Path, Record]) -> str:
    """The page as text; what the paper reports comes first."""
    order = [suite.name for suite in PAPER_SUITES]
    ranked = sorted(records.items(), key=lambda item: (item[1].suite not in order, item[0].name))
    links = " ".join(f'<a href="#{path.stem}">{html.escape(path.stem)}</a>' for path, _ in ranked)
    style = (resources.files("deepume.benchmark.records") / "page.css").read_text(encoding="utf-8")
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>deepume: measured</title><style>{style}</style></head><body><h1>deepume: measured</h1>"
        f"<p>{INTRODUCTION}</p><nav>{links}</nav>{_missing(records)}"
        + "".join(_section(path, record) for path, record in ranked)
        + "</body></html>\n"
    )


def _missing(records: dict[Path, Record]) -> str:
    """What the paper reports and nobody has measured here yet."""
    measured = {record.suite for record in records.values()}
    names = [suite.name for suite in PAPER_SUITES if suite.name not in measured]
    if not names:
        return ""
    command = f"deepume benchmark {' '.join(names)} --data DATA --workers 2 --record results"
    return f"<p>Not measured yet: {', '.join(names)}. To measure: <code>{command}</code></p>"


def _section(path: Path, record: Record) -> str:
    suite = SUITES.get(record.suite)
    title = record.suite if suite is None else f"{record.suite}: {suite.title}"
    facts = (
        f"{record.date}, commit {record.commit}, seed {record.seed}, {record.hardware.get('processor', '')}, "
        f"recorded runs on test sets before: {record.test_runs_before}"
    )
    return (
        f'<section id="{path.stem}"><h2>{html.escape(title)}</h2>'
        f"<p><code>{html.escape(record.command)}</code></p>"
        f'<p class="facts">{html.escape(facts)} (<a href="{path.name}">record</a>)</p>'
        f"{''.join(map(_earlier, record.earlier))}"
        f"{_images(path, record)}{_tables(record)}</section>"
    )


def _earlier(run: Earlier) -> str:
    """Where rows come from that the record's own command did not measure."""
    text = f"{', '.join(run.methods)}: {run.date}, commit {run.commit}, {run.hardware.get('processor', '')}, "
    return f'<p class="facts">{html.escape(text)}<code>{html.escape(run.command)}</code></p>'


def _images(path: Path, record: Record) -> str:
    picture = path.with_suffix(".png")
    drawn = [draw_figure(record.suite, record.rows), picture.read_bytes() if picture.is_file() else None]
    packed = [base64.b64encode(image).decode("ascii") for image in drawn if image is not None]
    return "".join(f'<p><img alt="{record.suite}" src="data:image/png;base64,{image}"></p>' for image in packed)


def _tables(record: Record) -> str:
    tables = make_tables(record.rows)
    text = "".join(map(_table, tables))
    return text if len(tables) <= FOLDED else f"<details><summary>{len(tables)} tables</summary>{text}</details>"


def _table(table: Table) -> str:
    head = "".join(f"<th>{html.escape(word)}</th>" for word in table.head)
    body = "".join(
        "<tr>" + "".join(_cell(title, cell) for title, cell in zip(table.head, line, strict=True)) + "</tr>"
        for line in table.body
    )
    caption = f"<caption>{html.escape(table.title)}</caption>"
    return f'<div class="scroll"><table>{caption}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'


def _cell(title: str, cell: Cell) -> str:
    kind = "paper" if title == "paper" else cell.mark.value
    return f'<td class="{kind}">{html.escape(cell.text)}</td>' if kind else f"<td>{html.escape(cell.text)}</td>"
