"""Pages in a browser, and what the tests look at: pixels, the console, the network."""

from __future__ import annotations

import io
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import torch
from PIL import Image
from torch import Tensor

from deepume.datasets import Law, draw_motion, make_shape
from deepume.viewer.colors import rgb

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Locator, Page

TIMEOUT = 60_000
"""Milliseconds; 3-D is drawn by the processor here, and it may be busy."""


class Watched(NamedTuple):
    """A page, the errors on its console, and the addresses it asked for."""

    page: Page
    errors: list[str]
    requests: list[str]


def watch(browser: Browser, width: int = 1360, height: int = 860) -> Watched:
    page = browser.new_page(viewport={"width": width, "height": height})
    page.set_default_timeout(TIMEOUT)
    watched = Watched(page, [], [])
    page.on("console", lambda message: watched.errors.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: watched.errors.append(str(error)))
    page.on("request", lambda request: watched.requests.append(request.url))
    return watched


def save_picture(page: Page, path: Path) -> None:
    """A screenshot in few colors: small enough to commit."""
    picture = Image.open(io.BytesIO(page.screenshot()))
    picture.convert("RGB").quantize(200, dither=Image.Dither.NONE).save(path, optimize=True)


def pixels(locator: Locator) -> np.ndarray:
    """Red, green and blue of what is on the screen there."""
    return np.asarray(Image.open(io.BytesIO(locator.screenshot())).convert("RGB"), dtype=int)


def share_of(image: np.ndarray, color: str) -> float:
    """Part of the pixels of about this color."""
    return float((np.abs(image - rgb(color)).max(-1) < 40).mean())


class Sample(NamedTuple):
    source: Tensor
    target: Tensor


def sample(family: str, size: int) -> Sample:
    """Two samplings of one shape in a random pose, without common points."""
    generator = torch.Generator().manual_seed(0)
    shape = make_shape(family, generator=generator)
    motion = draw_motion(Law.HAAR, generator=generator)
    source = shape.sample(size, generator=generator)
    return Sample(source, motion.apply(shape.sample(size, generator=generator)))
