"""The command line as a user sees it: words in, exit code and text out."""

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest
import torch

from deepume.cli.main import main
from deepume.datasets import Law, draw_motion, make_shape
from deepume.io import write_points


class Outcome(NamedTuple):
    code: int
    out: str
    err: str


Run = Callable[..., Outcome]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    def call(*words: object) -> Outcome:
        with pytest.raises(SystemExit) as stop:
            main([str(word) for word in words])
        text = capsys.readouterr()
        return Outcome(int(stop.value.code or 0), text.out, text.err)

    return call


class Files(NamedTuple):
    source: Path
    target: Path
    truth: torch.Tensor


@pytest.fixture
def files(tmp_path: Path) -> Files:
    """Two PLY files: 1,024 disjoint points each of one chair, in a random pose."""
    generator = torch.Generator().manual_seed(1)
    shape = make_shape("chair", generator=generator)
    motion = draw_motion(Law.HAAR, generator=generator)
    write_points(tmp_path / "source.ply", shape.sample(1024, generator=generator))
    write_points(tmp_path / "target.ply", motion.apply(shape.sample(1024, generator=generator)))
    return Files(tmp_path / "source.ply", tmp_path / "target.ply", motion.matrix)
