"""Every method against the laws it claims; and laws that it does not claim, where their failure is instructive."""

import pytest
import torch
from torch import Tensor

from deepume.alignment.score import score_poses
from deepume.datasets import Law, draw_motion, make_shape
from deepume.datasets.pairs.seeds import generator_for
from deepume.geometry.frames import frame_poses, principal_frame, sign_changes
from deepume.methods.auto import AUTO
from deepume.methods.claims import (
    LAWS,
    check_deterministic,
    check_exact,
    check_method,
    check_permutation,
    check_proper,
    check_rotation,
    check_swap,
    check_translation,
)
from deepume.methods.entry import Claim, Method, MethodEntry
from deepume.methods.table import BASELINES
from deepume.result import Registration
from deepume.transform import RigidTransform

TABLE = {entry.name: entry for entry in (AUTO, *BASELINES) if entry.name not in ("goicp", "grid-icp-576")}
"""Go-ICP has its own test, with less time; the larger grid makes the promises of the smaller one."""
SLOW = ("auto", "frames-icp", "grid-icp")
FAMILIES = ("chair", "mug", "hammer", "blob")
CASES = [(name, family) for name in TABLE for family in (("hammer", "blob") if name in SLOW else FAMILIES)]


def make_clouds(family: str, n: int, m: int, seed: int = 0) -> tuple[Tensor, Tensor]:
    """Two samplings of unequal size of a shape without symmetry, the second one moved."""
    generator = generator_for(f"{family}/{seed}")
    points = make_shape(family, generator=generator).sample(n + m, generator=generator)
    return points[:n], draw_motion(Law.HAAR, generator=generator).apply(points[n:])


@pytest.mark.parametrize(("name", "family"), CASES)
def test_every_method_keeps_its_claims(name: str, family: str) -> None:
    sizes = (70, 90) if name in SLOW else (120, 150)
    check_method(TABLE[name].make(), *make_clouds(family, *sizes), TABLE[name].claims)


@pytest.mark.parametrize("name", [name for name in TABLE if name not in SLOW])
def test_claims_hold_in_single_precision(name: str) -> None:
    source, target = make_clouds("airplane", 120, 150)
    check_method(TABLE[name].make(), source.float(), target.float(), TABLE[name].claims)


@pytest.mark.parametrize("name", ["auto", "frames-gicp"])
def test_claims_hold_where_gicp_polishes(name: str) -> None:
    claims = TABLE[name].claims - {Claim.BATCH}
    check_method(TABLE[name].make(), *make_clouds("chair", 450, 420), claims)


def test_the_default_method_claims_every_law() -> None:
    assert AUTO.claims == set(Claim)


@pytest.mark.parametrize("entry", TABLE.values(), ids=lambda entry: entry.name)
def test_what_everyone_must_claim(entry: MethodEntry) -> None:
    assert {Claim.PROPER, Claim.BATCH, Claim.DETERMINISTIC, Claim.PERMUTATION} <= entry.claims


def test_every_claim_has_a_law() -> None:
    assert set(LAWS) == set(Claim)


@pytest.mark.parametrize(
    ("name", "claim"),
    [
        ("identity", Claim.ROTATION),
        ("identity", Claim.TRANSLATION),
        ("identity", Claim.EXACT),
        ("icp", Claim.ROTATION),
        ("icp", Claim.EXACT),
        ("icp", Claim.SWAP),
    ],
)
def test_a_claim_that_is_not_made_would_be_broken(name: str, claim: Claim) -> None:
    assert claim not in TABLE[name].claims
    with pytest.raises(AssertionError, match=rf"{claim}: worst deviation [\d.]+"):
        check_method(TABLE[name].make(), *make_clouds("chair", 120, 150), [claim])


@pytest.mark.parametrize("family", ["mug", "chair", "body", "hand", "boat", "house"])
def test_pca_takes_the_best_of_its_four_frames(family: str) -> None:
    source, target = make_clouds(family, 100, 120)
    poses = frame_poses(principal_frame(source), principal_frame(target), sign_changes())
    assert float(pca()(source, target).score) == pytest.approx(
        float(score_poses(source, target, poses).min()), abs=1e-9
    )


def pca() -> Method:
    return TABLE["pca"].make()


def after(change) -> Method:
    """PCA with a fault put behind it."""

    def method(source: Tensor, target: Tensor) -> Registration:
        result = pca()(source, target)
        pose = change(result.target_from_source, source)
        return Registration(pose, result.score, result.ambiguous, result.hypotheses, residuals=result.residuals)

    return method


def drifting() -> Method:
    calls = iter(range(1000))
    return after(lambda pose, _: RigidTransform(pose.rotation, pose.translation + 1e-13 * next(calls)))


FAULTS = {
    "mirrored": (check_proper, lambda pose, _: RigidTransform(-pose.rotation, pose.translation)),
    "not a number": (check_proper, lambda pose, _: RigidTransform(pose.rotation * torch.nan, pose.translation)),
    "transposed": (check_rotation, lambda pose, _: RigidTransform(pose.rotation.mT, pose.translation)),
    "not centered": (check_translation, lambda pose, _: RigidTransform(pose.rotation, pose.translation * 0)),
    "shifted": (check_swap, lambda pose, _: RigidTransform(pose.rotation, pose.translation + 1e-3)),
    "looks at the first point": (
        check_permutation,
        lambda pose, source: RigidTransform(pose.rotation, pose.translation + 0.01 * source[0]),
    ),
    "inexact": (check_exact, lambda pose, _: RigidTransform(pose.rotation, pose.translation + 1e-4)),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_the_laws_catch_faults(fault: str) -> None:
    check, change = FAULTS[fault]
    source, target = make_clouds("chair", 120, 150)
    check(pca(), source, target)
    with pytest.raises(AssertionError, match="worst deviation"):
        check(after(change), source, target)


def test_one_bit_is_enough_to_break_determinism() -> None:
    with pytest.raises(AssertionError, match="deterministic: worst deviation"):
        check_deterministic(drifting(), *make_clouds("chair", 120, 150))


def test_a_batch_that_mixes_its_members_is_caught() -> None:
    def method(source: Tensor, target: Tensor) -> Registration:
        return pca()(source.flip(0), target.flip(0)) if source.dim() > 2 else pca()(source, target)

    with pytest.raises(AssertionError, match="batch: worst deviation"):
        check_method(method, *make_clouds("chair", 120, 150), [Claim.BATCH])


def test_all_broken_laws_are_listed_at_once() -> None:
    with pytest.raises(AssertionError) as caught:
        check_method(
            TABLE["identity"].make(), *make_clouds("chair", 60, 70), [Claim.ROTATION, Claim.EXACT, Claim.PROPER]
        )
    assert [line.split(":")[0] for line in str(caught.value).splitlines()] == ["exact", "rotation"]


def test_a_tolerance_can_be_given() -> None:
    clouds = make_clouds("chair", 60, 70)
    check_method(TABLE["identity"].make(), *clouds, [Claim.ROTATION], tolerance=10.0)
