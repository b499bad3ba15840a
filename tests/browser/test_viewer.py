"""The live viewer as its user sees it: controls are clicked, and both the screen and the answer follow."""

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
import torch

from deepume import register
from deepume.viewer.colors import SOURCE_COLOR, TARGET_COLOR
from deepume.viewer.live import LiveViewer
from deepume.viewer.scene import make_scene
from deepume.viewer.stage import FIRST_CAMERA
from pages import Sample, Watched, pixels, sample, save_picture, share_of, watch


def serve(pair: Sample) -> LiveViewer:
    return LiveViewer(make_scene(*pair), lambda initial: register(*pair, initial=initial))


@pytest.fixture(scope="module")
def viewer() -> Iterator[LiveViewer]:
    """Of a table, which fits twice."""
    viewer = serve(sample("table", 512))
    yield viewer
    viewer.stop()


@pytest.fixture(scope="module")
def opened(browser, viewer: LiveViewer) -> Iterator[Watched]:
    watched = open_viewer(browser, viewer)
    yield watched
    watched.page.close()


def open_viewer(browser, viewer: LiveViewer, width: int = 1220) -> Watched:
    watched = watch(browser, width, 820)
    watched.page.goto(viewer.address)
    watched.page.get_by_text("Register again").wait_for(state="attached")
    watched.page.get_by_text("WebGL is running in software mode").wait_for()
    watched.page.locator(".mantine-Notification-closeButton").click()
    return watched


def screen(opened: Watched) -> np.ndarray:
    """What is seen of the scene."""
    opened.page.mouse.move(5, 5)
    return pixels(opened.page.locator("canvas").first)


def eventually(opened: Watched, claim: Callable[[], bool]) -> bool:
    """Whether the claim comes true while the page is watched: what is clicked goes to the server and back first."""
    for _ in range(40):
        if claim():
            return True
        opened.page.wait_for_timeout(250)
    return False


def toggle(opened: Watched, label: str) -> None:
    opened.page.get_by_label(label, exact=True).click()


def pick(opened: Watched, label: str, option: str) -> None:
    opened.page.get_by_label(label, exact=True).click()
    opened.page.get_by_role("option", name=option).click()


def words(opened: Watched) -> str:
    return opened.page.locator("text=Turned by").first.inner_text()


def changed(first: np.ndarray, second: np.ndarray) -> bool:
    """Compares means over blocks of 10 x 10: the viewer draws more coarsely while the machine is slow."""
    rows, columns = (size - size % 10 for size in first.shape[:2])
    blocks = (first - second)[:rows, :columns].reshape(rows // 10, 10, columns // 10, 10, 3).mean((1, 3))
    return float((np.abs(blocks).max(-1) > 25).mean()) > 2e-3


def becomes_other(opened: Watched, before: np.ndarray) -> bool:
    return eventually(opened, lambda: changed(screen(opened), before))


def becomes(opened: Watched, before: np.ndarray) -> bool:
    return eventually(opened, lambda: not changed(screen(opened), before))


def test_it_loads_only_from_this_machine_and_shows_both_clouds(opened: Watched, viewer: LiveViewer) -> None:
    assert opened.errors == []
    assert viewer.address.startswith("http://127.0.0.1:")
    assert all(url.startswith((viewer.address, f"blob:{viewer.address}", "data:")) for url in opened.requests)
    for color in (SOURCE_COLOR, TARGET_COLOR):
        assert eventually(opened, lambda color=color: share_of(screen(opened), color) > 0.002)


@pytest.mark.parametrize(("label", "color"), [("Target", TARGET_COLOR), ("Aligned source", SOURCE_COLOR)])
def test_each_cloud_can_be_hidden(opened: Watched, label: str, color: str) -> None:
    before = screen(opened)
    toggle(opened, label)
    assert eventually(opened, lambda: share_of(screen(opened), color) < share_of(before, color) / 5)
    toggle(opened, label)
    assert becomes(opened, before)


def test_the_slider_moves_the_source_from_the_start_to_the_answer(opened: Watched, viewer: LiveViewer) -> None:
    answer = screen(opened)
    number = opened.page.locator("input[inputmode=decimal], input[inputmode=numeric]").first
    number.fill("0")
    number.press("Enter")
    assert becomes_other(opened, answer)
    start = viewer.scene.start.translation.numpy()
    assert eventually(opened, lambda: np.allclose(viewer._stage.aligned.position, start, atol=1e-6))
    number.fill("1")
    number.press("Enter")
    assert becomes(opened, answer)


def test_another_hypothesis_is_another_pose(opened: Watched) -> None:
    first, before = words(opened), screen(opened)
    pick(opened, "Hypothesis", "3:")
    assert eventually(opened, lambda: words(opened) != first)
    assert becomes_other(opened, before)
    pick(opened, "Hypothesis", "1:")
    assert eventually(opened, lambda: words(opened) == first)
    assert becomes(opened, before)


@pytest.mark.parametrize(
    ("coloring", "meaning"),
    [("residual", "sampling floors"), ("learned feature", "same colors"), ("area weight", "stands for")],
)
def test_points_are_colored_by_what_is_known_of_them(opened: Watched, coloring: str, meaning: str) -> None:
    before = screen(opened)
    pick(opened, "Color by", coloring)
    opened.page.get_by_text(meaning).wait_for()
    assert becomes_other(opened, before)
    pick(opened, "Color by", "cloud")
    assert becomes(opened, before)


@pytest.mark.parametrize("label", ["Source as given", "Principal frames", "Moment vectors", "Move the source"])
def test_what_is_switched_on_or_off_comes_or_goes(opened: Watched, label: str) -> None:
    before = screen(opened)
    toggle(opened, label)
    assert becomes_other(opened, before)
    toggle(opened, label)
    assert becomes(opened, before)


def test_moments_of_learned_features_are_others(opened: Watched) -> None:
    before = screen(opened)
    toggle(opened, "Moment vectors")
    assert becomes_other(opened, before)
    shells = screen(opened)
    pick(opened, "Moments of", "learned features")
    assert becomes_other(opened, shells)
    toggle(opened, "Moment vectors")
    assert becomes(opened, before)


def test_the_handle_moves_the_source_as_given(opened: Watched, viewer: LiveViewer) -> None:
    before, without = viewer._stage.hand, screen(opened)
    toggle(opened, "Move the source")
    assert becomes_other(opened, without)
    grip = before.apply(torch.tensor([[0.5, 0, 0]]).double()).squeeze(0)
    x, y = on_screen(opened, grip.numpy())
    opened.page.mouse.move(x, y)
    opened.page.mouse.down()
    opened.page.mouse.move(x + 60, y - 60, steps=6)
    opened.page.mouse.up()
    assert eventually(opened, lambda: float((viewer._stage.hand.translation - before.translation).norm()) > 0.05)
    stage = viewer._stage  # the hand may be a message ahead of the cloud
    assert eventually(opened, lambda: np.allclose(stage.start.position, stage.hand.translation, atol=1e-9))
    toggle(opened, "Move the source")


def on_screen(opened: Watched, point: np.ndarray) -> tuple[float, float]:
    """Pixel of a point of the scene, for the camera that the viewer starts with (75 degrees from top to bottom)."""
    box = opened.page.locator("canvas").first.bounding_box()
    assert box is not None
    back = np.array(FIRST_CAMERA) / np.linalg.norm(FIRST_CAMERA)
    right = np.cross([0, 0, 1], back) / np.linalg.norm(np.cross([0, 0, 1], back))
    offset = point - np.array(FIRST_CAMERA)
    focus = box["height"] / 2 / np.tan(np.radians(75 / 2)) / -(offset @ back)
    return box["x"] + box["width"] / 2 + focus * offset @ right, box["height"] / 2 - focus * offset @ np.cross(
        back, right
    )


def test_register_again_takes_the_pose_nearest_to_the_hand(opened: Watched, viewer: LiveViewer) -> None:
    """The table fits twice: put by hand as one fit has it, that one is the answer; then the other."""
    fits = [each.target_from_source for each in viewer.result.hypotheses if bool(each.equivalent)]
    assert len(fits) == 2
    for fit in (fits[1], fits[0]):
        before, handle = words(opened), viewer._stage.handle
        viewer._stage.place_start(viewer.scene.place(fit))
        handle.wxyz, handle.position = viewer._stage.start.wxyz, viewer._stage.start.position
        opened.page.get_by_role("button", name="Register again").click()
        assert eventually(opened, lambda before=before: words(opened) != before)
        np.testing.assert_allclose(viewer.pose.numpy(), fit.numpy(), atol=0.05)


def test_the_pose_is_saved(opened: Watched, viewer: LiveViewer) -> None:
    with opened.page.expect_download() as download:
        opened.page.get_by_role("button", name="Save pose").click()
    np.testing.assert_allclose(np.loadtxt(download.value.path()), viewer.pose.numpy(), rtol=1e-12)


def test_a_screenshot(browser, pictures: Path) -> None:
    viewer = serve(sample("airplane", 1024))
    opened = open_viewer(browser, viewer)
    for label in ("Principal frames", "Moment vectors", "Source as given"):
        toggle(opened, label)
    pick(opened, "Moments of", "learned features")
    pick(opened, "Color by", "learned feature")
    opened.page.get_by_text("same colors").wait_for()
    opened.page.wait_for_timeout(1500)
    save_picture(opened.page, pictures / "viewer.png")
    opened.page.close()
    viewer.stop()


def test_on_a_phone_the_object_is_seen_above_the_controls(browser) -> None:
    viewer = serve(sample("table", 512))
    opened = open_viewer(browser, viewer, 390)
    assert opened.page.evaluate("document.documentElement.scrollWidth") <= 390
    for color in (SOURCE_COLOR, TARGET_COLOR):
        assert eventually(opened, lambda color=color: share_of(screen(opened)[:330], color) > 0.002)
    opened.page.close()
    viewer.stop()
