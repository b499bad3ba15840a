"""How far the default method searches."""

from __future__ import annotations

from enum import StrEnum


class Effort(StrEnum):
    """How far an anytime method searches."""

    FAST = "fast"
    """Four principal frames, come what may; of symmetry, what these show."""
    AUTO = "auto"
    """As far as doubt remains."""
    THOROUGH = "thorough"
    """All stages."""
