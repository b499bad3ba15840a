"""The methods to compare with, one file each; siblings do not know one another."""

from __future__ import annotations

from deepume.baselines.frames import Frames
from deepume.baselines.grid import Grid
from deepume.baselines.icp import register_icp
from deepume.baselines.identity import register_identity
from deepume.baselines.pca import register_pca
from deepume.baselines.ume import ClosedFormUme
from deepume.method import Claim, MethodEntry

ALWAYS = frozenset({Claim.PROPER, Claim.BATCH, Claim.DETERMINISTIC, Claim.PERMUTATION})
LOCAL = ALWAYS | {Claim.TRANSLATION}
GLOBAL = LOCAL | {Claim.ROTATION, Claim.EXACT}
SYMMETRIC = GLOBAL | {Claim.SWAP}

BASELINES = (
    MethodEntry(
        name="identity",
        summary="no motion: the errors of doing nothing",
        make=lambda: register_identity,
        claims=ALWAYS | {Claim.SWAP},
        centered=False,
    ),
    MethodEntry(
        name="pca",
        summary="4 proper principal frames, the best fit wins",
        make=lambda: register_pca,
        claims=SYMMETRIC,
    ),
    MethodEntry(
        name="ume",
        summary="closed-form UME with 16 shells",
        make=ClosedFormUme,
        claims=SYMMETRIC,
    ),
    MethodEntry(
        name="ume-3",
        summary="closed-form UME with 3 shells, as in the paper",
        make=lambda: ClosedFormUme(bins=3, paper=True),
        claims=SYMMETRIC,
    ),
    MethodEntry(
        name="icp",
        summary="point-to-point ICP from no rotation: a local method",
        make=lambda: register_icp,
        claims=LOCAL,
    ),
    MethodEntry(
        name="frames-icp",
        summary="24 proper frames, each refined by two-sided ICP, chosen afterwards",
        make=lambda: Frames(gicp=False),
        claims=SYMMETRIC,
    ),
    MethodEntry(
        name="frames-gicp",
        summary="24 proper frames, each refined by GICP, chosen afterwards",
        make=Frames,
        claims=SYMMETRIC,
        refined=True,
    ),
    MethodEntry(
        name="grid-icp",
        summary="72 rotations, each refined by two-sided ICP, chosen afterwards",
        make=Grid,
        claims=GLOBAL,
    ),
)
