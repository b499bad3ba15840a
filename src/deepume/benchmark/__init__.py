"""Measured tables: methods against data sets on identical pairs, kept as records."""

from deepume.benchmark.record import Record, read_record, write_record
from deepume.benchmark.runner import run_suite
from deepume.benchmark.suites import SUITES, Suite, get_suite
from deepume.benchmark.tables import table_rows, to_markdown

__all__ = [
    "SUITES",
    "Record",
    "Suite",
    "get_suite",
    "read_record",
    "run_suite",
    "table_rows",
    "to_markdown",
    "write_record",
]
