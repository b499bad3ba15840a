"""Laws of the two networks."""

import json
from dataclasses import asdict, replace

import pytest
import torch

from deepume.errors import UnknownNameError
from deepume.geometry.chamfer import chamfer_squared, rank_by_chamfer
from deepume.geometry.frames import axis_exchanges, sign_changes
from deepume.geometry.moments import moment_matrix
from deepume.geometry.rotation import solve_rotation
from deepume.networks.deepume import DeepUME, DeepUMEConfig, Head, PaperConfig, PaperDeepUME, PaperHead, Resampling
from deepume.networks.estimate import CommonFrame
from deepume.transform import RigidTransform
from pairs import disturb, largest_difference, random_motion, seeded, skewed_cloud

# Three passes of an untrained network, whose moments are nearly parallel, multiply the rounding of float32.
TOLERANCE = {torch.float32: 3e-4, torch.float64: 1e-9}
TINY = DeepUMEConfig(width=16, blocks=2, heads=2, features=12, neighbors=6, cross_neighbors=4)


def deepume(dtype: torch.dtype = torch.float64, head: Head = Head.MOMENTS) -> DeepUME:
    torch.manual_seed(0)
    model = disturb(DeepUME(replace(TINY, head=head)))
    return model.to(dtype).eval()  # pyright: ignore[reportReturnType]


def paper(**changes) -> PaperDeepUME:
    torch.manual_seed(0)
    return disturb(PaperDeepUME(PaperConfig(feature_dim=32, **changes))).double().eval()  # pyright: ignore


ABLATIONS = [
    {"preprocessing": False},
    {"resampling": Resampling.FEATURES},
    {"resampling": Resampling.NONE},
    {"head": PaperHead.MLP},
    {},
]


@pytest.fixture(params=list(Head))
def model(request) -> DeepUME:
    return deepume(head=request.param)


@pytest.mark.parametrize("dtype", list(TOLERANCE))
@pytest.mark.parametrize("head", list(Head))
def test_moving_either_cloud_moves_the_answer(dtype, head):
    model = deepume(dtype, head)
    source = skewed_cloud(2, 120, seed=1, dtype=dtype)
    target = source[:, 30:]  # of one object: between strangers rounding decides the pose
    first, second = random_motion(2, seed=3, dtype=dtype), random_motion(2, seed=4, dtype=dtype)
    before = model(source, target)
    after = model(first.apply(source), second.apply(target))
    expected = second @ before.target_from_source @ first.inverse()
    assert largest_difference(after.target_from_source, expected) < TOLERANCE[dtype]
    assert (after.score - before.score).abs().max() < TOLERANCE[dtype]


def test_moving_clouds_and_initial_pose_moves_the_answer(model):
    source, target, initial = skewed_cloud(120, seed=1), skewed_cloud(90, seed=2), random_motion(seed=5)
    first, second = random_motion(seed=3), random_motion(seed=4)
    before = model(source, target, initial).target_from_source
    moved = second @ initial @ first.inverse()
    after = model(first.apply(source), second.apply(target), moved).target_from_source
    assert largest_difference(after, second @ before @ first.inverse()) < 1e-9


def test_scaling_the_pair_scales_the_translation_only(model):
    source, target = skewed_cloud(120, seed=1), skewed_cloud(90, seed=2) + 0.3
    before, after = model(source, target), model(1000 * source, 1000 * target)
    scaled = RigidTransform(before.target_from_source.rotation, 1000 * before.target_from_source.translation)
    assert largest_difference(after.target_from_source, scaled) < 1e-7
    assert torch.allclose(after.score, before.score)


def test_points_may_come_in_any_order(model):
    source, target = skewed_cloud(120, seed=1), skewed_cloud(90, seed=2)
    order, target_order = torch.randperm(120, generator=seeded(0)), torch.randperm(90, generator=seeded(1))
    before, after = model(source, target), model(source[order], target[target_order])
    assert largest_difference(before.target_from_source, after.target_from_source) < 1e-9


def test_a_batch_equals_its_members(model):
    source, target = skewed_cloud(2, 3, 60, seed=1), skewed_cloud(2, 3, 50, seed=2)
    whole, member = model(source, target), model(source[1, 2], target[1, 2])
    assert largest_difference(whole.target_from_source[1, 2], member.target_from_source) < 1e-9
    assert torch.allclose(whole.score[1, 2], member.score)


def test_identical_clouds_give_the_identity(model):
    cloud = skewed_cloud(100, seed=1)
    for initial in (None, RigidTransform.identity(cloud)):
        answer = model(cloud, cloud, initial).target_from_source
        assert largest_difference(answer, RigidTransform.identity(cloud)) < 1e-9


def test_the_exact_copy_is_found_from_frames_only(model):
    source, motion = skewed_cloud(100, seed=1), random_motion(seed=2)
    assert largest_difference(model(source, motion.apply(source)).target_from_source, motion) < 1e-9


def test_rotations_are_proper_and_scales_exactly_one(model):
    answer = model(skewed_cloud(5, 40, seed=1), skewed_cloud(5, 30, seed=2)).target_from_source
    assert torch.allclose(answer.rotation @ answer.rotation.mT, torch.eye(3, dtype=torch.float64).expand(5, 3, 3))
    assert torch.linalg.det(answer.rotation).min() > 0
    assert torch.equal(answer.scale, torch.ones(5, dtype=torch.float64))


def test_undisplaced_clouds_give_the_moments_of_the_clouds_themselves():
    torch.manual_seed(0)
    model = DeepUME(replace(TINY, head=Head.MOMENTS)).double().eval()
    source, target, initial = skewed_cloud(80, seed=1), skewed_cloud(70, seed=2), random_motion(seed=3)
    estimate = model(source, target, initial, passes=1)
    assert torch.equal(estimate.resampled.source, estimate.canonical.source)
    graphs = model.resample.graph(source), model.resample.graph(target)
    sides = model.resample(*estimate.canonical, *graphs)
    centered = (cloud - cloud.mean(-2) for cloud in estimate.canonical)
    turn = solve_rotation(*(moment_matrix(cloud, side.features) for cloud, side in zip(centered, sides, strict=True)))
    common = CommonFrame.around(source, target)
    expected = common.enter(initial).rotation @ turn @ common.axes.mT
    assert torch.allclose(estimate.target_from_source.rotation, expected)


def test_passes_continue_from_one_another(model):
    source, target, initial = skewed_cloud(80, seed=1), skewed_cloud(70, seed=2), random_motion(seed=3)
    three, one = model(source, target, initial, passes=3), model(source, target, initial, passes=1)
    assert len(three.passes) == len(three.scores) == 3
    assert largest_difference(three.passes[0], one.target_from_source) < 1e-9
    again = model(source, target, three.passes[1], passes=1)
    assert largest_difference(again.target_from_source, three.target_from_source) < 1e-9
    assert torch.allclose(again.score, three.score)


@pytest.mark.parametrize("exchanges", [None, torch.from_numpy(axis_exchanges())])
def test_hypotheses_are_what_single_frames_give(model, exchanges):
    source, target = skewed_cloud(2, 60, seed=1), skewed_cloud(2, 50, seed=2)
    every = model.hypotheses(source, target, exchanges)
    count = 4 if exchanges is None else 24
    assert every.score.shape == (2, count)
    chosen = model(source, target)
    gaps = [largest_difference(every.target_from_source[:, k][0], chosen.target_from_source[0]) for k in range(count)]
    assert min(gaps) < 1e-9


def test_a_pose_averaged_over_signs_is_the_mean_of_what_single_frames_give(model):
    source, target, start = skewed_cloud(2, 60, seed=1), skewed_cloud(2, 50, seed=2), random_motion(2, seed=3)
    signs = torch.from_numpy(sign_changes())
    single = [model(source, target, start, passes=1, exchange=sign).target_from_source for sign in signs]
    rotations = torch.stack([each.rotation for each in single])
    assert (rotations - rotations[0]).abs().max() > 1e-3, "signs that do not matter need no mean"
    averaged, middle = model.average_signs(source, target, start), source.mean(-2, keepdim=True)
    stretch = averaged.rotation.mT @ rotations.mean(0)
    assert torch.allclose(stretch, stretch.mT, atol=1e-9)
    images = torch.stack([each.apply(middle) for each in single])
    assert torch.allclose(averaged.apply(middle), images.mean(0), atol=1e-9)


def test_turning_the_common_frame_keeps_the_exact_copy(model):
    source, motion = skewed_cloud(4, 60, seed=1), random_motion(4, seed=2)
    answer = model(source, motion.apply(source), exchange=torch.from_numpy(sign_changes())).target_from_source
    assert largest_difference(answer, motion) < 1e-9


def test_every_parameter_learns():
    model = deepume().train()
    source, target = skewed_cloud(2, 60, seed=1), skewed_cloud(2, 50, seed=2)
    estimate = model(source, target)
    losses = [chamfer_squared(pose.apply(source), target).mean() for pose in estimate.passes]
    losses += [score.square().mean() for score in estimate.scores]
    torch.stack(losses).sum().backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None, name
        assert torch.isfinite(parameter.grad).all(), name
        assert parameter.grad.abs().max() > 0, name


def test_half_precision_outside_the_closed_form_changes_little():
    model = deepume(torch.float32)
    source, target = skewed_cloud(120, seed=1, dtype=torch.float32), skewed_cloud(90, seed=2, dtype=torch.float32)
    exact = model(source, target, passes=1).target_from_source
    with torch.autocast("cpu", torch.bfloat16):
        half = model(source, target, passes=1).target_from_source
    assert half.rotation.dtype == torch.float32
    assert largest_difference(half, exact) < 0.05
    assert torch.allclose(half.rotation @ half.rotation.mT, torch.eye(3), atol=1e-5)


def test_half_precision_does_not_change_the_coordinates_of_the_papers_network():
    torch.manual_seed(0)
    model = PaperDeepUME(PaperConfig(feature_dim=16, neighbors=8)).train()
    source, target = skewed_cloud(300, seed=1, dtype=torch.float32), skewed_cloud(280, seed=2, dtype=torch.float32)
    with torch.autocast("cpu", torch.bfloat16):
        estimate = model(source, target)
    assert {cloud.dtype for cloud in (*estimate.canonical, *estimate.resampled)} == {torch.float32}


@pytest.mark.parametrize("batch", [(), (3,), (2, 3)])
def test_ranking_by_chamfer_equals_the_squared_chamfer_distance(batch):
    source, target = skewed_cloud(*batch, 70, seed=1) + 5, skewed_cloud(*batch, 50, seed=2) + 5
    assert torch.allclose(rank_by_chamfer(source, target), chamfer_squared(source, target), atol=1e-12)
    broadcast = rank_by_chamfer(source.unsqueeze(-3), torch.stack([target, -target], -3))
    assert torch.allclose(broadcast[..., 1], chamfer_squared(source, -target), atol=1e-12)


@pytest.mark.parametrize("head", list(Head))
def test_clouds_of_absurdly_different_size_give_a_proper_rotation(head):
    answer = deepume(torch.float32, head)(1e-30 * skewed_cloud(40, seed=1).float(), skewed_cloud(30, seed=2).float())
    assert torch.allclose(answer.target_from_source.rotation.det(), torch.ones(()), atol=1e-4)


def test_small_has_half_the_width_and_one_block_less():
    small, default = DeepUMEConfig.small(), DeepUMEConfig()
    assert (2 * small.width, small.blocks + 1) == (default.width, default.blocks)


@pytest.mark.parametrize("changes", ABLATIONS)
class TestPaper:
    def test_translations_and_order_of_points_are_of_no_account(self, changes):
        model = paper(**changes)
        source, target = skewed_cloud(2, 70, seed=1), skewed_cloud(2, 60, seed=2)
        order, shift = torch.randperm(70, generator=seeded(0)), torch.tensor([3.0, -2.0, 1.0], dtype=torch.float64)
        before, after = model(source, target), model(source[:, order] + shift, target)
        assert torch.allclose(after.target_from_source.rotation, before.target_from_source.rotation, atol=1e-9)
        image = after.target_from_source.apply(source + shift)
        assert torch.allclose(image, before.target_from_source.apply(source), atol=1e-8)

    def test_a_batch_equals_its_members(self, changes):
        model = paper(**changes)
        source, target = skewed_cloud(2, 2, 50, seed=1), skewed_cloud(2, 2, 40, seed=2)
        whole, member = model(source, target).target_from_source, model(source[1, 0], target[1, 0]).target_from_source
        assert largest_difference(whole[1, 0], member) < 1e-9

    def test_rotations_are_proper(self, changes):
        rotation = paper(**changes)(
            skewed_cloud(6, 50, seed=1), skewed_cloud(6, 40, seed=2)
        ).target_from_source.rotation
        assert torch.linalg.det(rotation).min() > 0.999
        assert torch.allclose(rotation @ rotation.mT, torch.eye(3, dtype=torch.float64).expand(6, 3, 3))

    def test_every_parameter_learns(self, changes):
        model = paper(**changes).train()
        source, target = skewed_cloud(3, 60, seed=1), skewed_cloud(3, 50, seed=2)
        estimate = model(source, target)
        chamfer_squared(estimate.target_from_source.apply(source), target).mean().backward()
        for name, parameter in model.named_parameters():
            assert parameter.grad is not None, name
            assert torch.isfinite(parameter.grad).all(), name


def test_paper_finds_an_exact_copy():
    source, motion = skewed_cloud(100, seed=1), random_motion(seed=2)
    assert largest_difference(paper()(source, motion.apply(source)).target_from_source, motion) < 1e-9


def test_paper_identical_clouds_give_the_identity():
    cloud = skewed_cloud(100, seed=1)
    assert largest_difference(paper()(cloud, cloud).target_from_source, RigidTransform.identity(cloud)) < 1e-9


def test_paper_swapping_the_pair_inverts_the_answer():
    source, target = skewed_cloud(60, seed=1), random_motion(seed=3).apply(skewed_cloud(60, seed=1))
    forward, backward = (paper()(*pair).target_from_source for pair in ((source, target), (target, source)))
    assert largest_difference(backward, forward.inverse()) < 1e-9


@pytest.mark.parametrize(
    "config",
    [PaperConfig(), PaperConfig(preprocessing=False, resampling=Resampling.FEATURES, head=PaperHead.MLP),
     DeepUMEConfig(), DeepUMEConfig.small(), DeepUMEConfig(head=Head.DISPLACEMENT)],
)  # fmt: skip
def test_configurations_survive_a_file(config):
    read = json.loads(json.dumps(asdict(config)))
    assert type(config)(**read) == config


def test_unknown_names_and_impossible_sizes_are_refused():
    with pytest.raises(UnknownNameError, match="Did you mean 'moments'"):
        DeepUMEConfig(head="moment")  # pyright: ignore[reportArgumentType]
    with pytest.raises(UnknownNameError, match="coordinates, features, none"):
        PaperConfig(resampling="everything")  # pyright: ignore[reportArgumentType]
    with pytest.raises(ValueError, match="passes must be a whole number above 0, got 0"):
        DeepUMEConfig(passes=0)
    with pytest.raises(ValueError, match="multiple"):
        DeepUMEConfig(width=102)
