"""Training curves from the log of a run."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from deepume.errors import FileFormatError
from deepume.io.pictures import load_pyplot, save_figure

SMOOTHING = 1 / 15
"""Part of the log that a point of the loss curve is the mean of."""


def draw_curves(log: Path, picture: Path) -> None:
    """Write a picture of the loss and of the validation figures in ``log.jsonl``, over seconds of training."""
    events = read_events(log)
    figure, (left, right) = load_pyplot().subplots(1, 2, figsize=(10, 3.6), layout="constrained")
    steps = [event for event in events if event["event"] == "train"]
    seconds, losses = (_smooth([event[name] for event in steps]) for name in ("seconds", "loss"))
    left.plot(seconds, losses, color="#0072b2")
    left.set(xlabel="seconds", ylabel="loss", title="loss, smoothed")
    _draw_validation(right, [event for event in events if event["event"] == "validation"])
    save_figure(figure, picture)


def read_events(log: Path) -> list[dict[str, Any]]:
    """Events of a log, one JSON object a line; of what a resumed run did twice, the second time counts."""
    try:
        events: list[dict[str, Any]] = []
        for event in map(json.loads, log.read_text().splitlines()):
            while events and events[-1]["step"] > event["step"]:
                events.pop()
            events.append(event)
        return events
    except (OSError, json.JSONDecodeError) as error:
        raise FileFormatError(f"{log} is not the log of a training run ({error}). Pass its log.jsonl.") from error


def _smooth(values: list[float]) -> list[float]:
    width = max(1, round(SMOOTHING * len(values)))
    return [sum(values[start : start + width]) / width for start in range(len(values) - width + 1)]


def _draw_validation(panel: Any, events: list[dict[str, Any]]) -> None:
    """Median error of each scenario that was validated, on a logarithmic axis."""
    scenarios = [name for name, value in events[-1].items() if isinstance(value, dict)] if events else []
    for scenario, color in zip(scenarios, ("#d55e00", "#009e73", "#cc79a7", "#56b4e9"), strict=False):
        medians = [event[scenario]["median_deg"] for event in events]
        panel.plot([event["seconds"] for event in events], medians, "o-", color=color, label=scenario)
    panel.set(xlabel="seconds", ylabel="degrees", title="median rotation error, held-out shapes", yscale="log")
    panel.yaxis.set_major_formatter("{x:g}")
    low, high = panel.get_ylim()
    # Labels of all ticks between powers of ten would overlap, unless there are few.
    labeled = "25" if high > 4 * low else "123456789"
    panel.yaxis.set_minor_formatter(lambda value, _: f"{value:g}" if f"{value:e}"[0] in labeled else "")
    if scenarios:
        panel.legend(frameon=False)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit("usage: python -m deepume.viewer.curves LOG.jsonl PICTURE.png")
    draw_curves(Path(sys.argv[1]), Path(sys.argv[2]))
