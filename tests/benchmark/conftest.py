import pytest


@pytest.fixture(autouse=True)
def quick_intervals(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few bootstrap draws: most of the time of a small run goes into intervals."""
    monkeypatch.setattr("deepume.benchmark.rows.statistics.RESAMPLINGS", 10)
