"""Exported networks: what the file holds, that it answers as torch does, and that the examples of the docs run."""

import json
import re
import sys
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest
import torch

from deepume.cli.main import main
from deepume.datasets import Law, PairKey, ProceduralSet, Scenario, make_pair
from deepume.datasets.pairs.metrics import rotation_error_deg
from deepume.errors import MissingPackageError, UnknownNameError
from deepume.networks.deepume import DeepUME, DeepUMEConfig, Pair, PaperConfig, PaperDeepUME
from deepume.networks.loading import load_network
from deepume.networks.published_files import PACKAGE_FOLDER, WeightsError
from deepume.networks.traced import TracedPaper, TracedPass
from deepume.networks.weights_files import load_weights
from deepume.transform import RigidTransform
from shape_checks import no_shape_checks

onnxruntime = pytest.importorskip("onnxruntime", reason='needs onnxruntime: pip install "deepume[dev]"')
onnx = pytest.importorskip("onnx", reason='needs onnx: pip install "deepume[export]"')
pytest.importorskip("onnxscript", reason='needs onnxscript: pip install "deepume[export]"')

from deepume.networks.export import NAMES, export_network  # noqa: E402

PAGE = Path(__file__).parents[2] / "docs" / "export.md"
CPU = torch.device("cpu")
LIMITS = {"deepume": 1_600_000, "deepume-small": 350_000, "deepume-paper": 800_000}
SIZES = [(1, 64, 64), (4, 100, 37), (2, 17, 130), (1, 5, 40), (3, 12, 8), (2, 3, 4)]
TOLERANCE = 1e-5
"""For numbers of size about 1 that were computed in single precision."""


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Each network, exported now."""
    folder = tmp_path_factory.mktemp("exported")
    for name in NAMES:
        with no_shape_checks():
            size = export_network(name, folder / f"{name}.onnx")
        assert size == (folder / f"{name}.onnx").stat().st_size
    return {name: folder / f"{name}.onnx" for name in NAMES}


def open_file(path: Path):
    return onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])


def traced(name: str) -> TracedPass | TracedPaper:
    if name == "deepume-paper":
        return TracedPaper(load_network(PaperDeepUME, PaperConfig, name, CPU))
    return TracedPass(load_network(DeepUME, DeepUMEConfig, name, CPU))


def random_clouds(pairs: int, n: int, m: int) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(n * m + pairs)
    return tuple(torch.rand(pairs, size, 3, generator=generator) - 0.5 for size in (n, m))  # pyright: ignore


def run(session, source, target) -> list[np.ndarray]:
    return session.run(None, {"source": np.asarray(source), "target": np.asarray(target)})


@pytest.mark.parametrize("name", NAMES)
def test_any_number_of_pairs_and_points_gives_what_torch_gives(name: str, files: dict[str, Path]) -> None:
    session, network = open_file(files[name]), traced(name)
    for size in SIZES:
        clouds = random_clouds(*size)
        with torch.inference_mode():
            expected = network(*clouds)
        for output, value, there in zip(network.outputs, expected, run(session, *clouds), strict=True):
            scale = max(1.0, float(value.abs().max()))
            assert np.abs(value.numpy() - there).max() <= TOLERANCE * scale, (size, output)


@pytest.mark.parametrize("name", NAMES)
def test_a_batch_equals_its_members_and_the_order_of_points_changes_nothing(name: str, files: dict[str, Path]) -> None:
    session = open_file(files[name])
    source, target = random_clouds(3, 60, 45)
    together = run(session, source, target)
    for i in range(3):
        alone = run(session, source[i : i + 1].flip(-2), target[i : i + 1].flip(-2))
        for whole, part in zip(together, alone, strict=True):
            np.testing.assert_allclose(whole[i : i + 1], part, atol=TOLERANCE * max(1.0, float(np.abs(part).max())))


@pytest.mark.parametrize("name", NAMES)
def test_the_file_names_its_inputs_and_its_history_and_is_small(name: str, files: dict[str, Path]) -> None:
    session, weights = open_file(files[name]), load_weights(name)
    facts = session.get_modelmeta().custom_metadata_map
    assert (facts["name"], facts["commit"]) == (name, weights.card.commit)
    assert json.loads(facts["config"]) == weights.config
    assert json.loads(facts["card"]) == json.loads(json.dumps(asdict(weights.card)))
    shapes = {each.name: each.shape for each in session.get_inputs()}
    assert shapes == {"source": ["pairs", "source_points", 3], "target": ["pairs", "target_points", 3]}
    assert tuple(each.name for each in session.get_outputs()) == traced(name).outputs
    assert files[name].stat().st_size < LIMITS[name]
    assert str(Path(__file__).parents[2]) not in files[name].read_bytes().decode("latin-1")


def test_the_command_writes_the_same_bytes_again(
    files: dict[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "new" / "again.onnx"
    with no_shape_checks(), pytest.raises(SystemExit) as stop:
        main(["export", "deepume-small", "-o", str(out)])
    assert stop.value.code == 0
    assert capsys.readouterr().out.startswith(f"{out}: 0.31 MB")
    assert out.read_bytes() == files["deepume-small"].read_bytes()


def test_weights_are_stored_without_loss(files: dict[str, Path]) -> None:
    stored = onnx.load(files["deepume"]).graph.initializer
    values = [onnx.numpy_helper.to_array(each).astype(np.float32) for each in stored]
    for name, weight in load_weights("deepume").state.items():
        if weight.dim() == 2:
            ways = (weight.numpy(), weight.mT.numpy())
            assert any(np.array_equal(value, way) for value in values for way in ways), name


def test_the_file_in_the_package_is_that_of_the_weights_beside_it(files: dict[str, Path]) -> None:
    clouds = random_clouds(2, 50, 60)
    shipped, fresh = open_file(PACKAGE_FOLDER / "deepume.onnx"), open_file(files["deepume"])
    for one, other in zip(run(shipped, *clouds), run(fresh, *clouds), strict=True):
        np.testing.assert_allclose(one, other, atol=TOLERANCE)
    facts = [each.get_modelmeta().custom_metadata_map for each in (shipped, fresh)]
    assert facts[0] == facts[1]


def test_the_papers_correlation_gives_its_rotation(files: dict[str, Path]) -> None:
    source, target = (cloud.double() for cloud in random_clouds(2, 90, 70))
    network = load_network(PaperDeepUME, PaperConfig, "deepume-paper", CPU)
    with torch.inference_mode():
        frames = network._frames(source.float(), target.float())
        expected = network(source.float(), target.float()).target_from_source.rotation
        canonical = Pair(frames[0].to_local(source.float()), frames[1].to_local(target.float()))
    matrix = torch.from_numpy(run(open_file(files["deepume-paper"]), *canonical)[0])
    u, _, vh = torch.linalg.svd(frames[1].axes @ matrix @ frames[0].axes.mT)
    u[..., -1] *= torch.linalg.det(u @ vh).sign().unsqueeze(-1)
    assert torch.allclose(u @ vh, expected, atol=1e-4)


@pytest.mark.parametrize(("name", "example"), [("deepume", 0), ("deepume-small", 0), ("deepume-paper", 1)])
def test_the_examples_of_the_page_run(
    name: str, example: int, files: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    code = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)[example]
    assert "deepume." not in re.sub(r'"[^"]*"', "", code)
    assert "torch" not in code
    pair = make_pair(ProceduralSet(points=1200), PairKey("procedural", Scenario.ZERO, Law.HAAR, 300, 3))
    target = pair.target_from_source.apply(pair.source) if name == "deepume-paper" else pair.target
    np.savetxt(tmp_path / "source.xyz", pair.source.numpy())
    np.savetxt(tmp_path / "target.xyz", target.numpy())
    (tmp_path / ("deepume-paper.onnx" if example else "deepume.onnx")).write_bytes(files[name].read_bytes())
    monkeypatch.chdir(tmp_path)
    found: dict = {}
    exec(compile(code, "export.md", "exec"), found)
    pose = RigidTransform(*map(torch.from_numpy, (found["rotation"], found["translation"])))
    assert float(rotation_error_deg(pose, pair.target_from_source)) < 3
    middle = pair.source.mean(-2, keepdim=True)
    assert (pose.apply(middle) - pair.target_from_source.apply(middle)).abs().max() < 0.1


def test_the_table_of_the_page_is_that_of_the_files(files: dict[str, Path]) -> None:
    for name, path in files.items():
        assert f"| `{name}` | {path.stat().st_size / 1e6:.2f} MB |" in PAGE.read_text()


def test_what_cannot_be_exported_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("dcp-60", "paper-mlp-head"):
        with pytest.raises(WeightsError, match="have one: deepume, deepume-small, deepume-paper"):
            export_network(name, tmp_path / "a.onnx")
    with pytest.raises(UnknownNameError, match="Did you mean 'deepume-small'"):
        export_network("deepume-smal", tmp_path / "a.onnx")
    for package in ("onnxscript", "onnx"):
        monkeypatch.setitem(sys.modules, package, None)
        with pytest.raises(MissingPackageError, match=r'pip install "deepume\[export\]"'):
            export_network("deepume-small", tmp_path / "a.onnx")
    assert not list(tmp_path.iterdir())
