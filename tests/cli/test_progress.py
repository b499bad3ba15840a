import io

import pytest
from rich.console import Console

from deepume.cli.progress import PLAIN_SECONDS, Meter
from deepume.cli.train import CurrentFigures


class Clock:
    """Seconds that pass when told to."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def run(total: float, first: float, seconds: float, *, terminal: bool = False, quiet: bool = False) -> str:
    """What is printed while the work from ``first`` to ``total``, one unit a step, takes ``seconds`` a step."""
    text, clock = io.StringIO(), Clock()
    console = Console(file=text, force_terminal=terminal, width=200)
    with Meter("pairs", total, quiet=quiet, console=console, clock=clock) as meter:
        for done in range(int(first), int(total) + 1):
            clock.now += seconds
            meter.update(done, "icp", f"median {done}.25 deg")
    return text.getvalue()


@pytest.mark.parametrize("first", [1, 500])
def test_at_a_steady_pace_the_time_left_is_right_whatever_was_done_before(first: int) -> None:
    lines = run(1000, first, 0.5).splitlines()
    assert len(lines) == int((1001 - first) * 0.5 / PLAIN_SECONDS)
    for line in lines[-5:]:
        done = int(line.split("median ")[1].split(".")[0])
        left = float(line.split("about ")[1].split(" s left")[0])
        assert left == pytest.approx((1000 - done) * 0.5, abs=1 + 0.01 * left)
        assert "2.0 pairs/s" in line


def test_plain_lines_are_plain() -> None:
    text = run(100, 1, 1.0)
    assert "\x1b" not in text
    assert "━" not in text


def test_quick_work_says_nothing_on_a_pipe() -> None:
    assert run(10, 1, 0.1) == ""


@pytest.mark.parametrize("terminal", [False, True])
def test_quiet_says_nothing(terminal: bool) -> None:
    assert run(100, 1, 1.0, terminal=terminal, quiet=True) == ""


def test_what_is_missing_is_said_even_when_quiet() -> None:
    text = io.StringIO()
    with Meter("pairs", 1, quiet=True, console=Console(file=text)) as meter:
        meter.say("so many pairs")
        meter.warn("skipped ransac: install it")
    assert text.getvalue() == "skipped ransac: install it\n"


def test_a_terminal_gets_a_bar_with_throughput_and_figures() -> None:
    text = run(100, 1, 1.0, terminal=True)
    assert "━" in text
    assert "1.0 pairs/s" in text
    assert "median 100.25 deg" in text


def test_current_figures_are_the_latest_of_the_log() -> None:
    figures = CurrentFigures()
    figures.hear("train      step 25 seconds 3.5 pairs_per_second 650 loss 0.31 gradient 0.2")
    figures.hear("validation step 50 zero.mean_deg 3.1 zero.median_deg 1.5")
    figures.hear("train      step 50 seconds 7 pairs_per_second 640 loss 0.29")
    assert str(figures) == "pairs per second 640, loss 0.29, zero median deg 1.5"
