"""Poses of the network: on the sparsest clouds it finds more than frames and grids do."""

from __future__ import annotations

from deepume.alignment.ranking import Ranking
from deepume.search.network_queries import network_poses
from deepume.search.pair import CloudPair
from deepume.search.proposals.proposal import Detail, Proposal
from deepume.transform import RigidTransform


def propose(pair: CloudPair, _: Ranking | None) -> RigidTransform:
    """What the network makes of the four principal frames."""
    return network_poses(pair)


def suits(pair: CloudPair) -> bool:
    """True for sparse pairs, where the network is in use."""
    return pair.policy.asks_network and pair.smaller_size < pair.policy.network_points


LEARNED_POSES = Proposal("learned poses", propose, Detail.WHOLE, suits)
