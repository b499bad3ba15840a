from pathlib import Path

import torch
from matplotlib import image

from deepume import register
from deepume.datasets import make_shape
from deepume.viewer.picture import draw_registration


def test_the_picture_shows_both_clouds_in_both_panels(tmp_path: Path) -> None:
    generator = torch.Generator().manual_seed(0)
    shape = make_shape("chair", generator=generator)
    source, target = shape.sample(300, generator=generator), shape.sample(300, generator=generator) + 1
    draw_registration(source, target, register(source, target), tmp_path / "picture.png")
    pixels = image.imread(tmp_path / "picture.png")[..., :3]
    orange = (pixels[..., 0] > pixels[..., 2] + 0.3).astype(float)
    blue = (pixels[..., 2] > pixels[..., 0] + 0.3).astype(float)
    middle = pixels.shape[1] // 2
    for half in (slice(0, middle), slice(middle, None)):
        assert blue[:, half].sum() > 50
        assert orange[:, half].sum() > 50
