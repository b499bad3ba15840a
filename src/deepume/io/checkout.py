"""Where a figure or a weights file comes from."""

from __future__ import annotations

import subprocess
from pathlib import Path

PACKAGE = Path(__file__).parents[1]


def find_commit() -> str:
    """Commit of the checkout that this file is in, ``-dirty`` where code or weights changed since; empty outside one.

    Records and documents may change: a run that has written its first record is still a run of the same code.
    """
    commit = _ask_git("describe", "--always", "--abbrev=12")
    if not commit:
        return ""
    return f"{commit}-dirty" if _ask_git("diff", "--name-only", "HEAD", "--", ".", ":/weights") else commit


def _ask_git(*words: str) -> str:
    try:
        answer = subprocess.run(["git", *words], cwd=PACKAGE, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return ""
    return answer.stdout.strip()
