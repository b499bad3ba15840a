import base64
import json
import re
from dataclasses import replace

import numpy as np
import pytest
import torch

from deepume import Registration, RigidTransform, register
from deepume.geometry.neighbors import nearest
from deepume.viewer.report import Caption, make_report, page_data
from deepume.viewer.scene import SHOWN_POINTS, Scene, make_scene
from sampled_pairs import clouds

pytest.importorskip("plotly", reason="needs the extra viewer")

CAPTION = Caption("source.ply", "target.ply", "deepume register source.ply target.ply")


@pytest.fixture(scope="module")
def scene() -> Scene:
    return make_scene(*clouds(300, 400)[:2])


@pytest.fixture(scope="module")
def result() -> Registration:
    return register(*clouds(300, 400)[:2])


def floats(text: str) -> np.ndarray:
    return np.frombuffer(base64.b64decode(text), dtype="<f4")


def test_every_hypothesis_comes_with_its_matrix_and_its_residuals(scene: Scene, result: Registration) -> None:
    poses = json.loads(json.dumps(page_data(scene, result)))["poses"]
    assert len(poses) == len(result.hypotheses)
    for pose, hypothesis in zip(poses, result.hypotheses, strict=True):
        motion = hypothesis.target_from_source
        assert pose["matrix"] == motion.matrix.tolist()
        expected = nearest(motion.apply(scene.source), scene.whole_target).distances
        np.testing.assert_allclose(floats(pose["residuals"]), expected, rtol=1e-6)


def test_clouds_on_the_page_meet_where_the_pose_says(scene: Scene, result: Registration) -> None:
    """What the scripts draw, rows times points, has the residuals that the page tells."""
    data = json.loads(json.dumps(page_data(scene, result)))
    source, target = (floats(data[name]).reshape(-1, 3) for name in ("source", "target"))
    rows = np.array(data["poses"][0]["place"])
    moved = torch.from_numpy(source @ rows[:, :3].T + rows[:, 3])
    drawn = nearest(moved, torch.from_numpy(target.astype(float))).distances / float(scene.scene_from_target.scale)
    np.testing.assert_allclose(drawn, floats(data["poses"][0]["residuals"]), atol=1e-5)


def test_the_floor_is_a_distribution(scene: Scene, result: Registration) -> None:
    shares = page_data(scene, result)["floorShares"]
    assert isinstance(shares, list)
    assert sum(shares) == pytest.approx(1)


def test_a_result_without_hypotheses_shows_its_pose(scene: Scene, result: Registration) -> None:
    data = page_data(scene, replace(result, hypotheses=()))
    assert [pose["matrix"] for pose in data["poses"]] == [result.target_from_source.matrix.tolist()]  # pyright: ignore


def test_names_and_commands_cannot_break_out_of_the_page(scene: Scene, result: Registration) -> None:
    assert result.diagnostics is not None
    bad = "</script><script>alert(1)</script>"
    diagnostics = replace(result.diagnostics, warnings=(bad,))
    page = make_report(scene, replace(result, diagnostics=diagnostics), Caption(bad, bad, bad))
    assert "alert(1)</script>" not in page
    assert "&lt;script&gt;alert(1)" in page


def test_the_page_loads_nothing(scene: Scene, result: Registration) -> None:
    page = make_report(scene, result, CAPTION)
    head = page[: page.index('id="plotly"')]
    assert re.findall(r"(?:src|href)=\"(?!data:)[^\"]*\"", head) == []
    assert "@import" not in head
    assert "url(" not in head


def test_warnings_and_doubt_are_on_the_page(scene: Scene, result: Registration) -> None:
    assert "<li>None.</li>" in make_report(scene, result, CAPTION)
    assert 'class="verdict sure"' in make_report(scene, result, CAPTION)
    source, target, _ = clouds(300, 400)
    small = register(source / 1000, target)
    page = make_report(make_scene(source / 1000, target), small, CAPTION)
    assert "as if units changed from millimeters to meters" not in page
    assert "as if units changed from meters to millimeters" in page
    assert 'class="verdict unsure"' in page


def test_a_pair_of_100_000_points_stays_below_8_megabytes_and_says_that_it_is_thinned() -> None:
    source, target, motion = clouds(100_000, 100_000)
    few = register(*clouds(300, 400)[:2])
    scene = make_scene(source, target)
    answers = replace(few, hypotheses=tuple(few.hypotheses[:1]) * 8, target_from_source=motion)
    page = make_report(scene, answers, CAPTION)
    assert len(page.encode()) < 8e6
    assert f"100,000 points, {SHOWN_POINTS:,} of them drawn at random" in page


def test_poses_in_single_precision_are_drawn_too(scene: Scene, result: Registration) -> None:
    pose = result.target_from_source
    single = RigidTransform(pose.rotation.float(), pose.translation.float(), pose.scale.float())
    assert make_report(scene, replace(result, hypotheses=(), target_from_source=single), CAPTION)
