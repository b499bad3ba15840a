"""Figures of matplotlib as files: drawn without a screen, written small."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

from deepume.errors import FileFormatError
from deepume.io.packages import import_package

COLORS = 128
"""Colors of a PNG: a third of its size."""


def load_pyplot() -> Any:
    """Matplotlib without a screen."""
    import_package("matplotlib", "deepume[cli]").use("Agg", force=False)
    return import_package("matplotlib.pyplot", "deepume[cli]")


def save_figure(figure: Any, path: Path) -> None:
    """Write a figure and close it; a path that cannot be written is an error of one line."""
    try:
        if path.suffix.lower() == ".png":
            path.write_bytes(to_png(figure))
        else:
            figure.savefig(path)
    except (OSError, ValueError) as error:
        raise FileFormatError(f"Cannot write {path}: {error}. Name a .png file in a folder that exists.") from error
    finally:
        load_pyplot().close(figure)


def to_png(figure: Any) -> bytes:
    """The figure as PNG of few colors, without data that would make every copy differ."""
    image = import_package("PIL.Image", "deepume[cli]")
    drawn, small = io.BytesIO(), io.BytesIO()
    figure.savefig(drawn, dpi=100)
    load_pyplot().close(figure)
    image.open(drawn).convert("RGB").quantize(COLORS).save(small, "PNG", optimize=True)
    return small.getvalue()
