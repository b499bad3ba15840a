import torch
from hypothesis import given

from deepume.geometry.unit_sphere import to_unit_pair
from deepume.transform import RigidTransform
from strategies import batch_shapes, random_cloud, random_motion, seeds, worst


@given(seed=seeds(), batch=batch_shapes())
def test_both_clouds_are_centered_and_the_farthest_point_is_at_one(seed: int, batch: tuple[int, ...]) -> None:
    pair = to_unit_pair(random_cloud(seed, *batch, 12) * 7 + 3, random_cloud(seed + 1, *batch, 9))
    both = torch.cat([pair.source, pair.target], -2)
    assert worst(pair.source.mean(-2), torch.zeros(3)) < 1e-12
    assert worst(pair.target.mean(-2), torch.zeros(3)) < 1e-12
    assert worst(both.norm(dim=-1).amax(-1), torch.ones(batch)) < 1e-12


@given(seed=seeds(), batch=batch_shapes())
def test_a_restored_pose_does_to_the_clouds_what_it_does_to_the_unit_pair(seed: int, batch: tuple[int, ...]) -> None:
    source, target, pose = (
        random_cloud(seed, *batch, 12) + 5,
        random_cloud(seed + 1, *batch, 9),
        random_motion(seed, *batch),
    )
    pair = to_unit_pair(source, target)
    moved = pair.restore(pose).apply(source)
    back = (moved - pair.target_center.unsqueeze(-2)) / pair.radius[..., None, None]
    assert worst(back, pose.apply(pair.source)) < 1e-10


@given(seed=seeds())
def test_translation_and_unit_are_of_no_account(seed: int) -> None:
    source, target = random_cloud(seed, 12), random_cloud(seed + 1, 9)
    shift = RigidTransform(torch.eye(3, dtype=torch.float64), random_motion(seed).translation)
    before, after = to_unit_pair(source, target), to_unit_pair(1000 * shift.apply(source), 1000 * target)
    assert worst(before.source, after.source) < 1e-12
    assert worst(before.target, after.target) < 1e-12
