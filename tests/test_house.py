"""The house stays one that a newcomer finds the way in: its rooms, its files, and the walk of one pair are counted."""

import ast
import sys
import tomllib
from collections import Counter
from pathlib import Path
from statistics import median
from types import FrameType

import pytest

from deepume import register
from deepume.datasets import Law, PairKey, ProceduralSet, Scenario, make_pair

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "deepume"
FILES = sorted(PACKAGE.rglob("*.py"))
DEFAULT_METHOD = [*(PACKAGE / "search").rglob("*.py"), PACKAGE / "methods" / "auto.py"]
POLICY = PACKAGE / "search" / "policy.py"
PLAIN_NUMBERS = {0, 1, 2, 3, 6, 0.5, 10, 360}
"""Counts, the dimension of space and of motions, halves, degrees of a turn: nobody would tune them."""
ROUNDING = 1e-6
"""Smaller numbers only keep a division from failing."""
FAMILIES = PACKAGE / "datasets" / "shapes" / "families"


def test_the_top_level_holds_what_users_touch() -> None:
    assert len(list(PACKAGE.glob("*.py"))) <= 6


def test_imports_have_few_layers() -> None:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    layers = next(each["layers"] for each in contracts if each["type"] == "layers")
    assert len(layers) <= 12


def test_no_file_name_stands_twice() -> None:
    names = Counter(file.name for file in FILES if file.name not in ("__init__.py", "__main__.py"))
    assert [name for name, times in names.items() if times > 1] == []


def test_no_package_is_crowded() -> None:
    crowds = Counter(file.parent for file in FILES if file.parent != FAMILIES)
    assert {str(folder): count for folder, count in crowds.items() if count > 14} == {}


def test_files_are_short() -> None:
    lengths = {file: len(file.read_text().splitlines()) for file in FILES}
    assert median(lengths.values()) <= 110
    assert [str(file) for file, length in lengths.items() if length > 300] == []


def tuned_numbers(source: str) -> list[float]:
    """Numbers in a module that somebody may have chosen."""
    found = (node.value for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Constant))
    numbers = (value for value in found if isinstance(value, int | float) and not isinstance(value, bool))
    return [value for value in numbers if value not in PLAIN_NUMBERS and abs(value) > ROUNDING]


@pytest.mark.parametrize("file", DEFAULT_METHOD, ids=lambda file: file.stem)
def test_tuned_numbers_of_the_default_method_stand_in_its_policy(file: Path) -> None:
    assert tuned_numbers(file.read_text()) == [] or file == POLICY


def test_a_tuned_number_would_be_seen() -> None:
    assert tuned_numbers("def near(score):\n    return score < 1.25") == [1.25]
    assert tuned_numbers(POLICY.read_text())


def test_one_plain_pair_walks_through_few_modules() -> None:
    key = PairKey("procedural", Scenario.ZERO, Law.HAAR, 1024, 3)
    pair = make_pair(ProceduralSet(points=4800), key)
    register(pair.source, pair.target)  # what is done only once is done
    modules = trace_modules(lambda: register(pair.source, pair.target))
    assert len(modules) <= 26, modules


def trace_modules(call) -> list[str]:
    """Modules of the package of which a function ran, in the order of the first call."""
    modules: dict[str, None] = {}

    def note(frame: FrameType, event: str, _: object) -> None:
        file, name = frame.f_code.co_filename, frame.f_code.co_name
        if event == "call" and file.startswith(str(PACKAGE)) and name != "<module>":
            modules[str(Path(file).relative_to(PACKAGE))] = None

    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(None)
    return list(modules)
