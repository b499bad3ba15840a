"""Measured tables: methods against data sets on identical pairs, kept as records."""

from deepume.benchmark.record import Record, read_record, write_record
from deepume.benchmark.runner import run_suite
from deepume.benchmark.suite import Suite
from deepume.benchmark.suites import SUITES, get_suite
from deepume.benchmark.tables import make_tables, to_markdown

__all__ = [
    "SUITES",
    "Record",
    "Suite",
    "get_suite",
    "make_tables",
    "read_record",
    "run_suite",
    "to_markdown",
    "write_record",
]
