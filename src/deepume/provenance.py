"""Where a figure or a weights file comes from."""

from __future__ import annotations

import subprocess
from pathlib import Path


def find_commit() -> str:
    """Commit of the checkout that this file is in, ``-dirty`` where files changed since; empty outside one."""
    question = ["git", "describe", "--always", "--dirty", "--abbrev=12"]
    try:
        answer = subprocess.run(question, cwd=Path(__file__).parent, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return ""
    return answer.stdout.strip()
