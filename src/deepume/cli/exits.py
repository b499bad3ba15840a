"""Exit codes: a script can trust an answer, or not, without reading it."""

from __future__ import annotations

from enum import IntEnum


class Exit(IntEnum):
    """What the command says to the shell."""

    SURE = 0
    """Done; for a registration, an answer it is sure of."""
    FAULT = 1
    """A fault of ours."""
    BAD_INPUT = 2
    """Bad input; the message says what to do."""
    UNSURE = 3
    """An answer it is not sure of, written all the same."""
    INTERRUPTED = 130
    """Ctrl-C."""
