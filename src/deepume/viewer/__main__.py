"""``python -m deepume.viewer LOG PICTURE``: the curves of a training run."""

from __future__ import annotations

import sys
from pathlib import Path

from deepume.viewer.curves import draw_curves

if len(sys.argv) != 3:
    sys.exit("usage: python -m deepume.viewer LOG.jsonl PICTURE.png")
draw_curves(Path(sys.argv[1]), Path(sys.argv[2]))
