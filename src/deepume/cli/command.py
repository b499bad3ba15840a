"""The command as it was given, for records and reports."""

from __future__ import annotations

import shlex
import sys


def command_line() -> str:
    """The words of this run, quoted so that a shell takes them again."""
    return shlex.join(["deepume", *sys.argv[1:]])
