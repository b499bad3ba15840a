import numpy as np
import torch

from deepume.networks.estimate import Pair
from deepume.viewer.coloring import area_colors, feature_colors, plain_colors, residual_colors
from deepume.viewer.colors import SCALE, SOURCE_COLOR, TARGET_COLOR, colorize, rgb
from pairs import skewed_cloud


def luminance(color: np.ndarray) -> np.ndarray:
    linear = (color / 255.0) ** 2.2
    return linear @ np.array([0.2126, 0.7152, 0.0722])


def as_seen_without_red_cones(color: str) -> np.ndarray:
    """Linear red, green and blue as a protanope sees them (Viénot, Brettel and Mollon 1999)."""
    linear = (np.array(rgb(color)) / 255.0) ** 2.2
    return np.array([[0.11238, 0.88762, 0], [0.11238, 0.88762, 0], [0.00401, -0.00401, 1]]) @ linear


def test_the_scale_grows_darker_all_the_way_so_that_any_eye_can_read_it() -> None:
    steps = colorize(torch.linspace(0, 1, 64), 0.0, 1.0)
    assert (np.diff(luminance(steps)) < 0).all()


def test_source_and_target_differ_for_a_color_blind_reader() -> None:
    source, target = map(as_seen_without_red_cones, (SOURCE_COLOR, TARGET_COLOR))
    assert np.abs(source - target).max() > 0.3


def test_values_beyond_the_range_take_the_colors_of_its_ends() -> None:
    ends = colorize(torch.tensor([-5.0, 0.0, 1.0, 9.0]), 0.0, 1.0)
    assert ends.tolist() == [list(rgb(SCALE[0]))] * 2 + [list(rgb(SCALE[-1]))] * 2


def test_a_constant_has_one_color_and_no_error() -> None:
    assert len(np.unique(colorize(torch.ones(5), 1.0, 1.0), axis=0)) == 1


def test_colors_show_distant_points_and_points_without_neighbors() -> None:
    near, far = residual_colors(torch.tensor([0.0, 4.0]).double(), 1.0)
    assert luminance(far) < luminance(near)
    cloud = torch.cat([skewed_cloud(60, seed=0), torch.full((1, 3), 9.0).double()])
    of_source, _ = area_colors(cloud, cloud)
    assert luminance(of_source[-1]) < luminance(of_source[:-1]).mean()


def test_equal_features_have_equal_colors_in_both_clouds() -> None:
    features = Pair(torch.tensor([[0.0, 5.0], [1.0, 6.0]]), torch.tensor([[1.0, 7.0], [0.0, 8.0], [0.5, 9.0]]))
    source, target = feature_colors(features, 0)
    assert source[0].tolist() == target[1].tolist()
    assert source[1].tolist() == target[0].tolist()
    assert source[0].tolist() != source[1].tolist()


def test_plain_colors_distinguish_the_clouds() -> None:
    source, target = plain_colors(2, 3)
    assert (source.shape, target.shape) == ((2, 3), (3, 3))
    assert tuple(source[0]) == rgb(SOURCE_COLOR)
    assert tuple(target[0]) == rgb(TARGET_COLOR)
