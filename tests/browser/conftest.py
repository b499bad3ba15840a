"""A real browser, where one is installed."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser

NAMES = ("chromium", "chromium-browser", "google-chrome")
FLAGS = (
    "--no-sandbox",  # as root there is no other way
    "--use-gl=angle",
    "--use-angle=swiftshader",  # 3-D without a graphics card
    "--enable-unsafe-swiftshader",
    "--disable-background-networking",
    "--disable-component-update",
)


@pytest.fixture(scope="session")
def browser() -> Iterator["Browser"]:
    for package in ("plotly", "viser"):
        pytest.importorskip(package, reason="needs the extra viewer")
    playwright = pytest.importorskip("playwright.sync_api", reason="needs playwright, which the extra dev brings")
    found = next(filter(None, map(shutil.which, NAMES)), None)
    if found is None:
        pytest.skip("needs Chromium: `make browser`, or install it from your distribution")
    with playwright.sync_playwright() as started:
        chromium = started.chromium.launch(executable_path=found, args=list(FLAGS))
        yield chromium
        chromium.close()


@pytest.fixture(scope="session")
def pictures(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where screenshots go: `make figures` puts them into the docs."""
    return request.config.getoption("--pictures") or tmp_path_factory.mktemp("pictures")
