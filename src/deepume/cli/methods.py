"""``deepume methods``."""

from __future__ import annotations

from dataclasses import dataclass

from rich.console import Console
from rich.table import Table

from deepume.api import DEFAULT_METHOD, find_method, list_methods
from deepume.cli.exits import Exit


@dataclass(frozen=True)
class Methods:
    """List the methods that `deepume register --method NAME` takes, and the laws that each promises to obey."""

    def run(self) -> Exit:
        """Print the table."""
        table = Table("method", "what it does", "promises")
        for entry in map(find_method, list_methods()):
            name = f"{entry.name} (default)" if entry.name == DEFAULT_METHOD else entry.name
            table.add_row(name, entry.summary, ", ".join(sorted(entry.claims)))
        Console().print(table)
        return Exit.SURE
