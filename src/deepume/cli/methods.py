"""``deepume methods``."""

from __future__ import annotations

from dataclasses import dataclass

from rich.console import Console
from rich.table import Table

from deepume.api import DEFAULT_METHOD, find_method, list_methods, why_unavailable
from deepume.cli.exits import Exit


@dataclass(frozen=True)
class Methods:
    """List the methods that `deepume register --method NAME` takes, and the laws that each promises to obey.

    Methods marked * are not ready on this machine: trained weights or a package are missing; the lines below
    the table say how to get them.
    """

    def run(self) -> Exit:
        """Print the table, and what is missing."""
        table, missing = Table("method", "what it does", "promises"), {}
        for entry in map(find_method, list_methods()):
            missing[entry.name] = why_unavailable(entry)
            mark = " *" if missing[entry.name] else " (default)" if entry.name == DEFAULT_METHOD else ""
            table.add_row(entry.name + mark, entry.summary, ", ".join(sorted(entry.claims)))
        Console().print(table)
        for reason, names in _by_reason(missing).items():
            print(f"* {', '.join(names)}: {reason}")
        return Exit.SURE


def _by_reason(missing: dict[str, str | None]) -> dict[str, list[str]]:
    """Methods by what is missing; NAME replaces the name of the method in the text."""
    found: dict[str, list[str]] = {}
    for name, reason in missing.items():
        if reason is not None:
            found.setdefault(reason.replace(f"{name}.", "NAME.").replace(f" {name} ", " NAME "), []).append(name)
    return found
