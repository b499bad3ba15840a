"""Two sparse samplings, too few points for normals: nearest points, then the network."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

from deepume.search.judgement.symmetry import compare_wholes
from deepume.search.network_queries import improve_pose
from deepume.search.pair import CloudPair
from deepume.search.sampling.relation import CloudFit, Comparison, Finish, Start, covariance_by_points, near_partners
from deepume.transform import RigidTransform


class Points:
    """Two sparse samplings of one object."""

    name = "points"

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

    def hides_surface(self, pair: CloudPair, fit: CloudFit) -> bool:
        """False: sparse clouds are matched by points from the beginning."""
        return False

    def compare(
        self, pair: CloudPair, finish: Finish, poses: RigidTransform, scores: Float[np.ndarray, "K"]
    ) -> Comparison:
        """By score and symmetry."""
        return compare_wholes(pair, poses, scores)

    def covariance(self, pair: CloudPair, finish: Finish) -> Float[np.ndarray, "6 6"]:
        """By distances between points."""
        near = near_partners(pair, finish.fit)
        return pair.policy.inflation.points * covariance_by_points(finish.fit, near)


POINTS = Points()
