"""The report as a reader sees it: opened from disk, looked at, clicked."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from deepume import Registration, register
from deepume.viewer.colors import SOURCE_COLOR, TARGET_COLOR
from deepume.viewer.report import Caption, write_report
from deepume.viewer.scene import make_scene
from pages import Watched, pixels, sample, save_picture, share_of, watch

VIEWS = ("before", "after", "residual")


@pytest.fixture(scope="module")
def result() -> Registration:
    """Of a table, which fits twice."""
    return register(*sample("table", 512))


@pytest.fixture(scope="module")
def path(result: Registration, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("report") / "report.html"
    command = "deepume register source.ply target.ply --html report.html"
    write_report(make_scene(*sample("table", 512)), result, Caption("source.ply", "target.ply", command), path)
    return path


@pytest.fixture(scope="module")
def opened(browser, path: Path) -> Iterator[Watched]:
    watched = open_report(browser, path)
    yield watched
    watched.page.close()


def open_report(browser, path: Path, width: int = 1360, height: int = 860) -> Watched:
    watched = watch(browser, width, height)
    watched.page.goto(path.as_uri())
    watched.page.wait_for_selector("body[data-ready=true]")
    return watched


def shown_matrix(opened: Watched) -> np.ndarray:
    return np.array(opened.page.inner_text("#matrix").split(), dtype=float).reshape(4, 4)


def choose(opened: Watched, number: int) -> None:
    opened.page.click(f"#strip button:nth-child({number})")
    opened.page.wait_for_function("k => document.querySelector('#after').closest('figure').innerText.includes(k)",
                                  arg="the answer" if number == 1 else f"hypothesis {number}")  # fmt: skip


def test_it_opens_from_disk_without_errors_and_without_a_network(opened: Watched, path: Path) -> None:
    assert opened.errors == []
    assert opened.requests == [path.as_uri()]
    assert opened.page.locator(".failure").count() == 0


def test_the_views_show_both_clouds_and_the_residuals(opened: Watched) -> None:
    choose(opened, 1)
    for name in ("before", "after"):
        image = pixels(opened.page.locator(f"#{name}"))
        assert share_of(image, SOURCE_COLOR) > 0.005
        assert share_of(image, TARGET_COLOR) > 0.005
    residual = pixels(opened.page.locator("#residual"))
    assert 0.005 < (residual.min(-1) < 200).mean() < 0.5
    assert share_of(residual, TARGET_COLOR) == 0


def test_a_click_on_a_hypothesis_shows_its_pose(opened: Watched, result: Registration) -> None:
    for number in (1, 3, 2):
        choose(opened, number)
        expected = result.hypotheses[number - 1].target_from_source.numpy()
        np.testing.assert_allclose(shown_matrix(opened), expected, rtol=1e-7, atol=1e-12)
        assert opened.page.locator("#strip [aria-pressed=true]").count() == 1


def test_a_wrong_hypothesis_looks_wrong(opened: Watched, result: Registration) -> None:
    means, dark = {}, {}
    for number in (1, len(result.hypotheses)):
        choose(opened, number)
        opened.page.wait_for_timeout(1000)
        means[number] = float(opened.page.inner_text("#histogram-words").split()[1].rstrip(","))
        dark[number] = float((pixels(opened.page.locator("#residual")).max(-1) < 130).mean())
    assert means[len(result.hypotheses)] > 1.5 * means[1]
    assert dark[len(result.hypotheses)] > 3 * dark[1] + 1e-4


def test_the_strip_has_a_picture_of_every_hypothesis(opened: Watched, result: Registration) -> None:
    canvases = opened.page.locator("#strip canvas")
    assert canvases.count() == len(result.hypotheses)
    for k in range(canvases.count()):
        assert (pixels(canvases.nth(k)).min(-1) < 200).mean() > 0.01


def test_turning_one_view_turns_them_all(opened: Watched) -> None:
    page = opened.page
    cameras = "names => names.map(name => document.getElementById(name).layout.scene.camera.eye)"
    before = page.evaluate(cameras, VIEWS)
    box = page.locator("#after").bounding_box()
    assert box is not None
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + 90, y + 30, steps=4)
    page.mouse.up()
    page.wait_for_timeout(500)
    page.wait_for_function(f"names => new Set(({cameras})(names).map(JSON.stringify)).size === 1", arg=VIEWS)
    after = page.evaluate(cameras, VIEWS)
    assert after[1] != before[1]


@pytest.mark.parametrize(("name", "width", "height"), [("report", 1360, 1560), ("report-phone", 390, 844)])
def test_it_is_readable_at_desktop_and_phone_width(
    browser, tmp_path: Path, pictures: Path, name: str, width: int, height: int
) -> None:
    source, target = sample("airplane", 1024)
    command = "deepume register source.ply target.ply --html report.html"
    caption = Caption("source.ply", "target.ply", command)
    write_report(make_scene(source, target), register(source, target), caption, tmp_path / "report.html")
    page = open_report(browser, tmp_path / "report.html", width, height).page
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    sizes = page.eval_on_selector_all(
        "p, dd, dt, pre, h1, h2, li", "all => all.map(e => parseFloat(getComputedStyle(e).fontSize))"
    )
    assert min(sizes) >= 10
    widths = page.eval_on_selector_all(".view", "all => all.map(view => view.clientWidth)")
    assert min(widths) >= 300
    save_picture(page, pictures / f"{name}.png")
    page.close()


@pytest.mark.slow
def test_a_pair_of_100_000_points_opens_and_can_be_clicked(browser, tmp_path: Path) -> None:
    source, target = sample("table", 100_000)
    result = register(source, target)
    write_report(make_scene(source, target), result, Caption("source", "target", "deepume"), tmp_path / "report.html")
    opened = open_report(browser, tmp_path / "report.html")
    assert opened.errors == []
    assert share_of(pixels(opened.page.locator("#after")), TARGET_COLOR) > 0.02
    choose(opened, 2)
    expected = result.hypotheses[1].target_from_source.numpy()
    np.testing.assert_allclose(shown_matrix(opened), expected, rtol=1e-7, atol=1e-12)
    opened.page.close()
