"""Measured tables: methods against data sets on identical pairs, kept as records."""

from deepume.benchmark.records.record import Record, read_record, write_record
from deepume.benchmark.records.tables import make_tables, to_markdown
from deepume.benchmark.runner import run_suite
from deepume.benchmark.suites.our_suites import SUITES, get_suite
from deepume.benchmark.suites.suite import Suite

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
