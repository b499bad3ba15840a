"""Runtime shape checks for the whole package, one thread, the profile of hypothesis, and where screenshots go."""

from pathlib import Path

from jaxtyping import install_import_hook

install_import_hook("deepume", "beartype.beartype")

import pytest  # noqa: E402
import torch  # noqa: E402
from hypothesis import settings  # noqa: E402

# Tensors of tests are small: on a busy machine threads wait for one another ten times longer than they compute.
torch.set_num_threads(1)

# Geometry on a busy machine may be slow once; a deadline would make good tests fail at random.
settings.register_profile("deepume", deadline=None, max_examples=25, derandomize=True)
settings.load_profile("deepume")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--pictures", type=Path, help="folder for the screenshots of the browser tests; else a temporary one"
    )
