"""The symmetry of procedural shapes is known: how often is it named right? Minutes of work, so run by name."""

import math

import pytest
import torch

from deepume import register
from deepume.datasets import Law, PairKey, ProceduralSet, Scenario, make_pair
from deepume.datasets.pairs.metrics import is_right
from deepume.datasets.shapes.symmetry_groups import SymmetryGroup
from deepume.result import Symmetry
from deepume.transform import RigidTransform

SHAPES = ProceduralSet(seed=5)
PAIRS = 192
"""Four shapes of each family, none of which the method was made with."""
WITHIN = math.cos(math.radians(10))


def is_named_right(symmetry: Symmetry | None, group: SymmetryGroup, motion: RigidTransform) -> bool:
    """True where the axis of the highest order that is named is one of the shape's, and of the same order."""
    if group.is_trivial or symmetry is None or not symmetry.orders:
        return group.is_trivial and (symmetry is None or not symmetry.orders)
    rank = {order: math.inf if order == 0 else order for order in (*group.orders, *symmetry.orders)}
    named, highest = (max(orders, key=rank.__getitem__) for orders in (symmetry.orders, group.orders))
    if named != highest or group.orders.count(0) > 1:  # every axis of a sphere is right
        return named == highest
    axis = symmetry.axes[symmetry.orders.index(named)].double()
    true_axes = group.axes[[order == highest for order in group.orders]].double()
    images = motion.rotation @ group.rotations() @ true_axes.mT
    return bool(((images.mT @ axis).abs() > WITHIN).any())


@pytest.mark.slow
def test_axis_and_order_are_named_and_the_pose_is_right_up_to_them() -> None:
    named, right = [], []
    for index in range(PAIRS):
        pair = make_pair(SHAPES, PairKey(SHAPES.name, Scenario.ZERO, Law.HAAR, 1024, index))
        result = register(pair.source, pair.target)
        right.append(bool(is_right(result.target_from_source, pair.target_from_source, pair.source, pair.target)))
        named.append(is_named_right(result.symmetry, SHAPES.shape(index).symmetry, pair.target_from_source))
    shares = torch.tensor([right, named]).double().mean(-1)
    wrong = [SHAPES.shape_name(index) for index in range(PAIRS) if not named[index]]
    assert shares[0] >= 0.99
    assert shares[1] >= 0.95, wrong
