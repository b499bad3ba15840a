"""The methods to compare with, one file each; siblings do not know one another."""

from __future__ import annotations

from torch import nn

from deepume.methods.entry import Claim, MethodEntry
from deepume.methods.packages.fgr import FastGlobal
from deepume.methods.packages.kiss_matcher import KissMatcher
from deepume.methods.packages.ransac import Ransac
from deepume.methods.simple.goicp import GoIcp
from deepume.methods.simple.icp import register_icp
from deepume.methods.simple.identity import register_identity
from deepume.methods.simple.pca import register_pca
from deepume.methods.simple.refined_frames import Frames
from deepume.methods.simple.refined_grid import Grid
from deepume.methods.simple.ume import ClosedFormUme
from deepume.networks.compared.dcp import Dcp, DcpConfig
from deepume.networks.compared.deepgmr import DeepGMR, DeepGMRConfig
from deepume.networks.compared.pointnetlk import PointNetLK, PointNetLKConfig
from deepume.networks.compared.rgm import Rgm, RgmConfig
from deepume.networks.loading import NetworkMethod

ALWAYS = frozenset({Claim.PROPER, Claim.BATCH, Claim.DETERMINISTIC, Claim.PERMUTATION})
LOCAL = ALWAYS | {Claim.TRANSLATION}
GLOBAL = LOCAL | {Claim.ROTATION, Claim.EXACT}
SYMMETRIC = GLOBAL | {Claim.SWAP}
DECIDED = frozenset({Claim.PROPER, Claim.DETERMINISTIC})
PACKAGED = DECIDED | {Claim.BATCH}
"""Matching of features follows rounding: which pairs agree may change when a cloud is moved or its points shuffled."""

TRAINED_POINTS = 1024
"""Points of a cloud that the networks are trained on. Their neighborhoods are counted in points, and what they compare
are all pairs of points: clouds of many times that number would be strange to them, and slow."""

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
    MethodEntry(
        name="grid-icp-576",
        summary="576 rotations, each refined by two-sided ICP, chosen afterwards",
        make=lambda: Grid(rotations=576),
        claims=GLOBAL,
    ),
    MethodEntry(
        name="goicp",
        summary="branch and bound over all motions; flags a bound it did not close",
        make=GoIcp,
        claims=frozenset({Claim.PROPER, Claim.BATCH, Claim.TRANSLATION}),
    ),
)
"""What needs nothing but this package."""

OPTIONAL = (
    MethodEntry(
        name="fgr",
        summary="fast global registration on FPFH features (Open3D), then ICP",
        make=FastGlobal,
        claims=PACKAGED,
        package="open3d",
    ),
    MethodEntry(
        name="ransac",
        summary="RANSAC on FPFH features (Open3D), then ICP",
        make=Ransac,
        # Seeded as it is, Open3D draws in several threads that race: on a busy machine runs differ.
        claims=frozenset({Claim.PROPER}),
        package="open3d",
    ),
    MethodEntry(
        name="kiss-matcher",
        summary="KISS-Matcher: FPFH, graph pruning, graduated non-convexity; then ICP",
        make=KissMatcher,
        claims=PACKAGED,
        package="kiss_matcher",
    ),
)
"""What needs a package of the extra ``bench``."""


def _network(
    name: str, summary: str, network: type[nn.Module], config: type, claims: frozenset[Claim]
) -> tuple[MethodEntry, MethodEntry]:
    """A network with weights for any rotation, and with weights for small angles."""

    def entry(weights: str, summary: str) -> MethodEntry:
        method = NetworkMethod(network, config, weights, most_points=2 * TRAINED_POINTS)
        return MethodEntry(weights, summary, lambda: method, claims, weights=weights)

    return entry(name, summary), entry(f"{name}-60", f"{summary}; for angles up to 60")


NETWORKS = (
    *_network("pointnetlk", "PointNetLK: Lucas-Kanade on learned features", PointNetLK, PointNetLKConfig, LOCAL),
    *_network("dcp-v1", "DCP version 1: soft partners by features", Dcp, DcpConfig, LOCAL),
    *_network("dcp", "DCP version 2: soft partners, with attention", Dcp, DcpConfig, LOCAL),
    *_network("deepgmr", "DeepGMR: matching Gaussian mixtures", DeepGMR, DeepGMRConfig, GLOBAL),
    *_network("rgm", "RGM: graph matching, clouds of equal size", Rgm, RgmConfig, DECIDED),
)
"""What needs trained weights. Promises hold to single precision.

PointNetLK, DCP and RGM see absolute coordinates: rotating a cloud does not rotate their answers, and clouds that
coincide after a motion do not give that motion. None of them inverts its answer when the clouds are swapped. RGM takes
hard decisions: where its soft assignment is undecided, rounding, and with it the order of the points, makes them.
"""
