"""Rows of methods that users do not choose by name: the default one and its peers set otherwise, parts of a network."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from deepume.alignment.gicp import refine_gicp
from deepume.api import find_method, list_methods, register
from deepume.benchmark.rows.resampling import RESAMPLER
from deepume.datasets import Pair
from deepume.methods.auto import Auto
from deepume.methods.entry import MethodEntry
from deepume.methods.learned import paper_method
from deepume.methods.packages.fgr import FastGlobal
from deepume.methods.packages.kiss_matcher import KissMatcher
from deepume.methods.packages.ransac import Ransac
from deepume.methods.running import Settings, Stopwatch, register_pair
from deepume.networks.loading import NetworkMethod
from deepume.networks.paper import PaperConfig, ProperPaperDeepUME
from deepume.result import Registration
from deepume.search.policy import POLICIES, Effort


def register_with_effort(pair: Pair, effort: Effort) -> Registration:
    """The default method, told how far to search."""
    return register(pair.source, pair.target, effort=effort)


def register_unlearned(pair: Pair) -> Registration:
    """The default method without its network."""
    policy = replace(POLICIES[Effort.AUTO], asks_network=False)
    return Auto(policy=policy)(pair.source, pair.target)


def register_with_gicp(pair: Pair, peer: type[Ransac] | type[FastGlobal] | type[KissMatcher]) -> Registration:
    """A peer whose answer is refined by GICP instead of ICP."""
    return peer(refiner=refine_gicp)(pair.source, pair.target)


def register_resampler(pair: Pair) -> Registration:
    """The paper's network, in the row that also tells how far it moves the points."""
    return register(pair.source, pair.target, method="deepume-paper", refine=False)


def register_unmirrored(pair: Pair) -> Registration:
    """The paper's network, its frames chosen among those that are not mirrored."""
    make = partial(NetworkMethod, ProperPaperDeepUME, PaperConfig, PAPER_WEIGHTS, in_unit_sphere=True)
    entry = MethodEntry(UNMIRRORED, "four sign patterns", make, frozenset(), weights=PAPER_WEIGHTS)
    return register_pair(pair.source, pair.target, entry, Settings(refine=False), Stopwatch())


def register_ablated(pair: Pair, weights: str) -> Registration:
    """The paper's network without one of its parts, on clouds prepared as for the whole."""
    entry = MethodEntry(weights, "an ablation", partial(paper_method, weights), frozenset(), weights=weights)
    return register_pair(pair.source, pair.target, entry, Settings(refine=False), Stopwatch())


PAPER_WEIGHTS, UNMIRRORED = "deepume-paper", "paper-proper-frames"
"""Weights of the paper's network, and the row in which it has four sign patterns instead of eight."""
ABLATIONS = ("paper-no-preprocessing", "paper-feature-resampling", "paper-mlp-head")
"""Names of their weights, and of the recipes that train them."""

VARIANTS: dict[str, Callable[[Pair], Registration]] = {
    "auto-fast": partial(register_with_effort, effort=Effort.FAST),
    "auto-thorough": partial(register_with_effort, effort=Effort.THOROUGH),
    "auto-unlearned": register_unlearned,
    "ransac-gicp": partial(register_with_gicp, peer=Ransac),
    "fgr-gicp": partial(register_with_gicp, peer=FastGlobal),
    "kiss-matcher-gicp": partial(register_with_gicp, peer=KissMatcher),
    RESAMPLER: register_resampler,
    UNMIRRORED: register_unmirrored,
    **{name: partial(register_ablated, weights=name) for name in ABLATIONS},
}


def is_network(name: str) -> bool:
    """True for rows that are a network alone: a GPU is of use to them, and to no others."""
    return name in (*ABLATIONS, RESAMPLER, UNMIRRORED) or (
        name in list_methods() and find_method(name).weights is not None
    )
