import torch
from hypothesis import given

from deepume import RigidTransform
from deepume.networks.estimate import Pair
from deepume.viewer.arrows import LONGEST, axis_arrows, moment_arrows, shell_features
from deepume.viewer.learned_features import DESCRIBED_POINTS, learned_features
from deepume.viewer.scene import make_scene
from pairs import random_motion, skewed_cloud
from strategies import seeds


@given(seed=seeds())
def test_axes_turn_with_the_cloud(seed: int) -> None:
    cloud, motion = skewed_cloud(80, seed=seed), random_motion(seed=seed)
    torch.testing.assert_close(axis_arrows(motion.apply(cloud)), motion.apply(axis_arrows(cloud)))


@given(seed=seeds())
def test_moments_turn_with_the_cloud_so_in_the_true_pose_the_arrows_coincide(seed: int) -> None:
    source, motion = skewed_cloud(80, seed=seed), random_motion(seed=seed)
    target = motion.apply(source)
    features = Pair(shell_features(source), shell_features(target))
    of_source, of_target = moment_arrows(Pair(source, target), features)
    torch.testing.assert_close(motion.apply(of_source), of_target)
    lengths = (of_target[:, 1] - of_target[:, 0]).norm(dim=-1)
    torch.testing.assert_close(lengths.max(), torch.tensor(LONGEST, dtype=torch.float64))


def test_learned_features_of_one_cloud_twice_are_equal() -> None:
    """Seen in the true pose, where the two clouds coincide."""
    cloud = skewed_cloud(200, seed=1)
    features = learned_features(make_scene(cloud, cloud), RigidTransform.identity(cloud))
    torch.testing.assert_close(features.source, features.target, atol=1e-4, rtol=1e-3)
    assert float(features.source.std(0).max()) > 0.01


def test_every_shown_point_of_a_large_cloud_has_features() -> None:
    cloud = skewed_cloud(DESCRIBED_POINTS + 500, seed=1)
    features = learned_features(make_scene(cloud, cloud[:300]), RigidTransform.identity(cloud))
    assert features.source.shape[0] == len(cloud)
    assert features.target.shape[0] == 300
