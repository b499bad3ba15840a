import json
from pathlib import Path

import pytest

from deepume.errors import FileFormatError
from deepume.networks.weights_files import read_table
from deepume.viewer.curves import draw_curves, read_events

LOG = Path(__file__).parents[2] / "results" / "training" / "deepume.jsonl"


def test_the_published_log_can_be_drawn(tmp_path: Path) -> None:
    draw_curves(LOG, tmp_path / "curves.png")
    assert (tmp_path / "curves.png").read_bytes().startswith(b"\x89PNG")


def test_a_run_that_has_just_begun_can_be_drawn(tmp_path: Path) -> None:
    (tmp_path / "log.jsonl").write_text(json.dumps({"event": "train", "step": 1, "seconds": 1.0, "loss": 2.0}) + "\n")
    draw_curves(tmp_path / "log.jsonl", tmp_path / "curves.png")
    assert (tmp_path / "curves.png").is_file()


def test_the_published_runs_learned_something() -> None:
    for name in read_table():
        events = read_events(LOG.with_name(f"{name}.jsonl"))
        losses = [event["loss"] for event in events if event["event"] == "train"]
        if events[0]["recipe"]["loss_distance"] == "log":
            # A part of a logarithm means nothing: the last losses are below each of the first.
            assert sum(losses[-5:]) / 5 < min(losses[:5]), name
        else:
            assert sum(losses[-5:]) < 0.95 * sum(losses[:5]), name


def test_another_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "log.txt").write_text("hello")
    with pytest.raises(FileFormatError, match=r"log\.jsonl"):
        draw_curves(tmp_path / "log.txt", tmp_path / "curves.png")


def test_steps_that_a_resumed_run_did_again_are_drawn_once(tmp_path: Path) -> None:
    steps = {"start": [0], "train": [10, 20], "resume": [15], "again": [18, 30], "validation": [30]}
    lines = [{"event": name, "step": each, "seconds": each + 0.004} for name, some in steps.items() for each in some]
    lines.append({"event": "end", "step": 30, "seconds": 30.0})  # its seconds are not rounded, those before are
    (tmp_path / "log.jsonl").write_text("\n".join(map(json.dumps, lines)))
    assert [event["step"] for event in read_events(tmp_path / "log.jsonl")] == [0, 10, 15, 18, 30, 30, 30]
