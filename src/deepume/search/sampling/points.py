"""Two sparse samplings, too few points for normals: nearest points, then the network."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

from deepume.search.judgement.symmetry import Whole
from deepume.search.network_queries import improve_pose
from deepume.search.pair import CloudPair
from deepume.search.sampling.relation import Finish, Start, covariance_by_points, near_partners


class Points(Whole):
    """Two sparse samplings of one object."""

    def evidence(self, start: Start) -> bool:
        """True for sparse clouds."""
        return not start.pair.dense

    def refine(self, start: Start) -> Finish:
        """Nearest points; then one pass of the network, unless the clouds fit worse there than chance allows.

        Sparse clouds leave several poses equally close; ICP takes one by accident, the network knows shapes.
        """
        pair, closer = start.pair, start.closer
        if not pair.policy.asks_network:
            return Finish(closer, self)
        improved = pair.fit(improve_pose(pair, closer.pose))
        fits = improved.score <= closer.score * (1 + pair.margin(pair.policy.doubt.fits))
        return Finish(improved if fits else closer, self)

    def covariance(self, pair: CloudPair, finish: Finish) -> Float[np.ndarray, "6 6"]:
        """By distances between points."""
        near = near_partners(pair, finish.fit)
        return pair.policy.inflation.points * covariance_by_points(finish.fit, near)


POINTS = Points()
