import json
import subprocess
import sys

import pytest

SCRIPT = """
import json, pathlib, sys, threading, time, warnings
warnings.simplefilter("error")
import torch
threads, precision = threading.active_count(), torch.get_float32_matmul_precision()
state, count = torch.get_rng_state(), torch.get_num_threads()
opened = []
sys.addaudithook(lambda event, args: opened.append(str(args[0])) if event == "open" else None)
start = time.perf_counter()
import deepume
seconds = time.perf_counter() - start
root = str(pathlib.Path(deepume.__file__).parents[2])  # a checkout may itself be called deepume
data = [path for path in opened if not path.endswith((".py", ".pyc", ".so")) and "__pycache__" not in path]
print(json.dumps({
    "seconds": seconds,
    "modules": sorted({name.split(".")[0] for name in sys.modules}),
    "threads": threading.active_count() - threads,
    "settings": [
        torch.get_float32_matmul_precision() == precision,
        torch.get_num_threads() == count,
        torch.equal(torch.get_rng_state(), state),
        torch.get_default_dtype() == torch.float32,
    ],
    "files": [path for path in data if "deepume" in path.removeprefix(root)],
    "names": [name for name in deepume.__all__ if not hasattr(deepume, name)],
}))
"""


@pytest.fixture(scope="module")
def facts() -> dict:
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True)
    assert done.stderr == ""
    lines = done.stdout.splitlines()
    assert len(lines) == 1
    return json.loads(lines[0])


OPTIONAL = [
    "tyro",
    "rich",
    "matplotlib",
    "small_gicp",
    "trimesh",
    "scipy",
    "laspy",
    "pye57",
    "pypcd4",
    "h5py",
    "open3d",
]


@pytest.mark.parametrize("package", [*OPTIONAL, "viser", "plotly", "ray", "pytest", "hypothesis", "beartype"])
def test_import_loads_no_optional_or_slow_package(facts: dict, package: str) -> None:
    assert package not in facts["modules"]


def test_import_is_cheap_quiet_and_leaves_torch_alone(facts: dict) -> None:
    assert facts["seconds"] < 2
    assert facts["threads"] == 0
    assert all(facts["settings"])
    assert facts["files"] == []


def test_every_public_name_is_there(facts: dict) -> None:
    assert facts["names"] == []
