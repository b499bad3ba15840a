"""``python -m deepume.benchmark SUITE``: a suite measured with nothing but torch, SciPy and numpy, for GPU machines."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from deepume.benchmark import get_suite, run_suite, to_markdown, write_record
from deepume.benchmark.record import LEDGER, make_record
from deepume.errors import DeepumeError


def main(arguments: list[str] | None = None) -> int:
    """Parse, measure, print Markdown, keep the record; exit 2 on bad input."""
    given = _parser().parse_args(arguments)
    try:
        suite = get_suite(given.suite, has_data=given.data is not None)
        suite = suite.narrowed(methods=tuple(given.methods), sets=tuple(given.sets), pairs=given.pairs)
        rows = run_suite(suite, given.data, skip=_say_skipped, device=given.device)
        print(to_markdown(rows))
        if given.record is not None:
            command = " ".join(["python -m deepume.benchmark", *(arguments or sys.argv[1:])])
            write_record(
                make_record(suite, rows, command, given.record.parent / LEDGER, device=given.device), given.record
            )
    except DeepumeError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


def _say_skipped(name: str, reason: str) -> None:
    print(f"skipped {name}: {reason}", file=sys.stderr)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m deepume.benchmark", description=__doc__)
    parser.add_argument("suite", help="what to measure, such as network")
    parser.add_argument("--data", type=Path, help="folder of the real data sets; without it, procedural shapes")
    parser.add_argument("--device", default="cpu", help="where the clouds live: cpu, cuda")
    parser.add_argument("--methods", nargs="*", default=[], help="only these methods")
    parser.add_argument("--sets", nargs="*", default=[], help="other data sets than the suite's")
    parser.add_argument("--pairs", type=int, help="another number of pairs in each block")
    parser.add_argument("--record", type=Path, help="write the record (JSON) here")
    return parser


if __name__ == "__main__":
    sys.exit(main())
