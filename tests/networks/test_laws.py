"""The compared networks against the laws that they claim, with random weights; and the laws that they break."""

from dataclasses import replace
from pathlib import Path

import pytest
from torch import Tensor

from deepume.datasets import Law, draw_motion, make_shape
from deepume.datasets.pairs.seeds import generator_for
from deepume.errors import CloudShapeError
from deepume.geometry.clouds import subsample_farthest
from deepume.methods.claims import check_method, check_proper
from deepume.methods.entry import Claim
from deepume.methods.table import NETWORKS
from network_files import SMALL, random_method

TABLE = {entry.name: entry for entry in NETWORKS}
SINGLE_PRECISION = 5e-3
"""Networks compute in single precision, and their layers amplify its rounding."""
BROKEN = [(name, claim) for name in ("pointnetlk", "dcp-v1", "dcp", "rgm") for claim in (Claim.ROTATION, Claim.EXACT)]
"""Absolute coordinates enter these networks: a rotated cloud is another cloud to them."""


def make_clouds(name: str) -> tuple[Tensor, Tensor]:
    generator = generator_for("hammer")
    shape, motion = make_shape("hammer", generator=generator), draw_motion(Law.EULER_45, generator=generator)
    return shape.sample(96, generator=generator), motion.apply(
        shape.sample(96 if name == "rgm" else 80, generator=generator)
    )


@pytest.mark.parametrize("name", list(SMALL))
def test_networks_keep_their_claims(name: str, tmp_path: Path) -> None:
    method, claims = random_method(name, tmp_path), TABLE[name].claims
    assert {Claim.PROPER, Claim.DETERMINISTIC} <= claims
    check_proper(method, *make_clouds(name))
    check_method(method, *make_clouds(name), claims - {Claim.PROPER}, tolerance=SINGLE_PRECISION)


@pytest.mark.parametrize(("name", "claim"), [*BROKEN, ("pointnetlk", Claim.SWAP), ("dcp", Claim.SWAP)])
def test_a_claim_that_is_not_made_would_be_broken(name: str, claim: Claim, tmp_path: Path) -> None:
    assert claim not in TABLE[name].claims
    with pytest.raises(AssertionError, match=rf"{claim}: worst deviation"):
        check_method(random_method(name, tmp_path), *make_clouds(name), [claim], tolerance=0.05)


@pytest.mark.parametrize("name", list(SMALL))
def test_weights_for_small_angles_make_the_same_promises(name: str) -> None:
    assert TABLE[f"{name}-60"].claims == TABLE[name].claims
    assert (TABLE[name].weights, TABLE[f"{name}-60"].weights) == (name, f"{name}-60")


def test_large_clouds_are_thinned_evenly(tmp_path: Path) -> None:
    source, target = make_clouds("dcp")
    whole = random_method("dcp", tmp_path)
    found = replace(whole, most_points=40)(source, target).target_from_source
    few = whole(subsample_farthest(source.float(), 40), subsample_farthest(target.float(), 40)).target_from_source
    assert float((found.matrix - few.matrix).abs().max()) < 1e-5
    assert all(entry.make().most_points == 2048 for entry in NETWORKS)  # pyright: ignore[reportAttributeAccessIssue]


def test_rgm_names_the_remedy_for_unequal_sizes(tmp_path: Path) -> None:
    source, target = make_clouds("dcp")
    with pytest.raises(CloudShapeError, match=r"96 and 80 points.*subsample_random"):
        random_method("rgm", tmp_path)(source, target)
