"""``python -m deepume.benchmark SUITES``: suites measured with nothing but torch, SciPy and numpy, for GPU machines."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from deepume.benchmark.records.tables import to_markdown
from deepume.benchmark.session import Session, find_suites
from deepume.errors import DeepumeError
from deepume.io.checkout import find_commit


def main(arguments: list[str] | None = None) -> int:
    """Parse, measure, print Markdown, keep the records; exit 2 on bad input."""
    given = _parser().parse_args(arguments)
    command = " ".join(["python -m deepume.benchmark", *(arguments or sys.argv[1:])])
    commit = given.commit or find_commit()
    try:
        session = Session(command, given.data, given.record, given.device, given.workers, commit, update=given.update)
        for suite in find_suites(given.suites, has_data=given.data is not None):
            narrowed = suite.narrowed(methods=tuple(given.methods), sets=tuple(given.sets), pairs=given.pairs)
            chosen = narrowed.within(given.scenarios).thinned(given.every)
            print(to_markdown(session.run(chosen, skip=_say_skipped)))
        session.finish()
    except DeepumeError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


def _say_skipped(name: str, reason: str) -> None:
    print(f"skipped {name}: {reason}", file=sys.stderr)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m deepume.benchmark", description=__doc__)
    parser.add_argument("suites", nargs="+", help="what to measure: network, T1, density, all and so on")
    parser.add_argument("--data", type=Path, help="folder of the real data sets; without it, procedural shapes")
    parser.add_argument("--device", default="cpu", help="where networks compute: cpu, cuda")
    parser.add_argument("--methods", nargs="*", default=[], help="only these methods")
    parser.add_argument("--sets", nargs="*", default=[], help="other data sets than the suite's")
    parser.add_argument("--scenarios", nargs="*", default=[], help="only the blocks of these scenarios")
    parser.add_argument("--pairs", type=int, help="another number of pairs in each block")
    parser.add_argument("--every", type=int, default=1, help="only every so many-th pair, spread over all shapes")
    parser.add_argument("--workers", type=int, default=1, help="processes that share the work")
    parser.add_argument("--commit", help="commit to note in the record, where there is no checkout")
    parser.add_argument("--record", type=Path, help="write the record (JSON) here, or the records into this folder")
    parser.add_argument("--update", action="store_true", help="leave other rows in a record that is there")
    return parser


if __name__ == "__main__":
    sys.exit(main())
