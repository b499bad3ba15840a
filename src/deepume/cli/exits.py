"""Exit codes: they tell a script whether it can trust the answer."""

from __future__ import annotations

from enum import IntEnum


class Exit(IntEnum):
    """What the command returns to the shell."""

    SURE = 0
    """Done; for a registration, an answer it is sure of."""
    FAULT = 1
    """A fault of ours."""
    BAD_INPUT = 2
    """Bad input; the message says what to do."""
    UNSURE = 3
    """An answer it is not sure of; it is written, too."""
    INTERRUPTED = 130
    """Ctrl-C."""
