from dataclasses import fields, replace

import pytest
import torch

from deepume.datasets.pairs.scenarios import Scenario
from deepume.training.pairs.bank import Banks
from deepume.training.pairs.pair_maker import PairMaker, Pairs, stretch_shapes
from deepume.training.recipes.recipe import TRAINABLE_SCENARIOS, Recipe

COUNT, SOURCE, TARGET = 8, 300, 260


def draw(banks: Banks, recipe: Recipe, scenario: Scenario, seed: int = 0, sizes=(SOURCE, TARGET)) -> Pairs:
    single = replace(recipe, scenarios=((scenario, 1.0),))
    return maker_of(banks, single, seed).draw_sized(COUNT, *sizes)


def maker_of(banks: Banks, recipe: Recipe, seed: int = 0) -> PairMaker:
    host, device = torch.Generator().manual_seed(seed), torch.Generator().manual_seed(seed)
    return PairMaker(banks.training, recipe, host, device)


def gaps(pairs: Pairs) -> torch.Tensor:
    """Distance of each target point, brought back by the truth, to the nearest source point."""
    back = (pairs.target - pairs.translation.unsqueeze(-2)) @ pairs.rotation
    return torch.cdist(back, pairs.source, compute_mode="donot_use_mm_for_euclid_dist").amin(-1)


def shared_share(pairs: Pairs) -> torch.Tensor:
    return (gaps(pairs) < 2e-6).float().mean(-1)


@pytest.mark.parametrize("scenario", TRAINABLE_SCENARIOS)
def test_the_truth_aligns_the_clouds(banks: Banks, recipe: Recipe, scenario: Scenario):
    pairs = draw(banks, recipe, scenario)
    assert pairs.source.shape == (COUNT, SOURCE, 3)
    assert pairs.target.shape == (COUNT, TARGET, 3)
    assert gaps(pairs).median(-1).values.max() < 0.2
    turned = replace(pairs, rotation=pairs.rotation.roll(1, 0))
    assert gaps(turned).mean() > gaps(pairs).mean()


def test_zero_intersection_shares_no_point_and_noise_free_all(banks: Banks, recipe: Recipe):
    assert shared_share(draw(banks, recipe, Scenario.ZERO)).max() == 0
    assert shared_share(draw(banks, recipe, Scenario.NOISE_FREE)).min() == 1
    assert shared_share(draw(banks, recipe, Scenario.GAUSSIAN)).max() < 1


def test_paper_training_shares_about_half(banks: Banks, recipe: Recipe):
    share = shared_share(draw(banks, recipe, Scenario.PAPER_TRAINING, sizes=(400, 400)))
    assert share.min() > 0.4
    assert share.max() < 0.6


def test_density_thins_one_side_of_the_target(banks: Banks, recipe: Recipe):
    def offset(scenario: Scenario) -> torch.Tensor:
        pairs = draw(banks, recipe, scenario)
        return (pairs.target.mean(-2) - pairs.loss_target.mean(-2)).norm(dim=-1)

    assert offset(Scenario.DENSITY).min() > offset(Scenario.ZERO).mean()


def test_overlap_crops_both_clouds(banks: Banks, recipe: Recipe):
    pairs = draw(banks, recipe, Scenario.OVERLAP)
    whole = draw(banks, recipe, Scenario.ZERO)
    assert gaps(pairs).mean() > 1.5 * gaps(whole).mean()


def test_a_tenth_of_the_points_are_outliers(banks: Banks, recipe: Recipe):
    pairs = draw(banks, recipe, Scenario.OUTLIERS)
    nearest = torch.cdist(pairs.source, pairs.loss_source).amin(-1)
    assert nearest[:, :30].mean() > 5 * nearest[:, 30:].mean()


def test_the_loss_sees_the_clouds_or_draws_that_share_points(banks: Banks, recipe: Recipe):
    for points, shared in ((0, 0.0), (256, 0.0), (256, 0.5), (256, 1.0)):
        changed = replace(recipe, loss_points=points, loss_shared=shared)
        pairs = draw(banks, changed, Scenario.ZERO)
        if points == 0:
            assert torch.equal(pairs.loss_source, pairs.source)
            assert torch.equal(pairs.loss_target, pairs.target)
        truth = pairs.loss_source @ pairs.rotation.mT + pairs.translation.unsqueeze(-2)
        same = torch.cdist(truth, pairs.loss_target, compute_mode="donot_use_mm_for_euclid_dist").amin(-1) < 1e-5
        assert same.float().mean().item() == pytest.approx(shared, abs=0.01)


def test_scenarios_are_mixed_by_their_shares(banks: Banks, recipe: Recipe):
    mixed = replace(recipe, scenarios=((Scenario.ZERO, 3.0), (Scenario.NOISE_FREE, 1.0)))
    shared = shared_share(maker_of(banks, mixed).draw_sized(400, 32, 32)) == 1
    assert shared.float().mean().item() == pytest.approx(0.25, abs=0.08)


def test_the_same_seed_gives_the_same_pairs(banks: Banks, recipe: Recipe):
    first, again, other = (maker_of(banks, recipe, seed).draw() for seed in (1, 1, 2))
    for item in fields(Pairs):
        assert torch.equal(getattr(first, item.name), getattr(again, item.name))
    assert not torch.equal(first.rotation[:2], other.rotation[:2])


def test_shapes_are_drawn_by_weight(banks: Banks):
    cumulative = torch.zeros(len(banks.training))
    cumulative[3:] = 0.25
    cumulative[7:] = 1.0
    weighted = replace(banks.training, cumulative=cumulative)
    rows = weighted.draw(4000, generator=torch.Generator().manual_seed(0))
    assert set(rows.tolist()) == {3, 7}
    assert (rows == 7).float().mean().item() == pytest.approx(0.75, abs=0.03)


def test_small_clouds_come_in_larger_batches(banks: Banks, recipe: Recipe):
    assert recipe.batch_at(48) == recipe.batch
    assert recipe.batch_at(32) == recipe.batch * 48 // 32
    assert recipe.batch_at(16) == recipe.max_batch


def test_equivalent_poses_fit_as_well_as_the_truth(banks: Banks, recipe: Recipe):
    """For a shape with a symmetry, every rotation marked as equivalent leaves the clouds as close as the truth."""
    pairs = draw(banks, recipe, Scenario.ZERO, sizes=(512, 512))
    source, target = pairs.dense_source, pairs.dense_target
    for pose in range(24):
        rotation, center = pairs.equivalents[:, pose], source.mean(-2, keepdim=True)
        image = center @ pairs.rotation.mT + pairs.translation.unsqueeze(-2)
        moved = (source - center) @ rotation.mT + image
        truth = source @ pairs.rotation.mT + pairs.translation.unsqueeze(-2)
        ratio = torch.cdist(moved, target).amin(-1).mean(-1) / torch.cdist(truth, target).amin(-1).mean(-1)
        assert torch.where(pairs.is_equivalent[:, pose], ratio, 1.0).max() < 1.5
    assert pairs.is_equivalent[:, 0].all()
    assert pairs.is_equivalent[:, 1:].any()


def test_stretched_shapes_are_flatter_and_fill_the_unit_sphere(banks: Banks):
    shapes = banks.training.coordinates(torch.arange(COUNT))
    stretched = stretch_shapes(shapes, 0.7, generator=torch.Generator().manual_seed(1))
    assert torch.allclose(stretched.norm(dim=-1).amax(-1), torch.ones(COUNT))
    assert stretched.mean(-2).abs().max() < 1e-6
    # What was done to a shape is one linear map, with two equal singular values and one smaller by up to 70 %.
    centered = shapes - shapes.mean(-2, keepdim=True)
    lengths = torch.linalg.svdvals(torch.linalg.lstsq(centered.double(), stretched.double()).solution)
    shares = lengths / lengths[:, :1]
    assert torch.allclose(shares[:, 1], torch.ones(COUNT, dtype=torch.double), atol=1e-4)
    assert 0.3 <= shares[:, 2].min() < shares[:, 2].max() < 1


def test_pairs_of_a_stretched_shape_fit_only_at_the_truth(banks: Banks, recipe: Recipe):
    pairs = draw(banks, replace(recipe, stretch=0.7), Scenario.NOISE_FREE)
    assert shared_share(pairs).min() == 1
    assert torch.equal(pairs.is_equivalent.sum(-1), torch.ones(COUNT, dtype=torch.long))
    assert torch.allclose(pairs.equivalents[:, 0], pairs.rotation, atol=1e-5)
