"""How far a pose may be off: the covariance of rotation and translation that the residuals allow."""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor

from deepume.alignment.indexed_pair import PreparedPair
from deepume.search.finish import Finish, Sampling
from deepume.search.judgement.evidence import COVERED
from deepume.transform import cross_matrix

SURFACES, SPARSE_POINTS, PARTS, COPIES, COUPLED, SHARED = 10.0, 25.0, 60.0, 4.5, 1.1, 1.0
"""Factors on the variance by which 95 % of true poses fall into the ellipsoid of 95 %, on training shapes; points
coupled one to one, on 228 validation pairs, where 96 % do; parts that overlap, on 70 pairs, where 91 % do.

Least squares alone is too sure of itself: partners are chosen to be near, and residuals of neighbors go together.
"""


def pose_covariance(pair: PreparedPair, finish: Finish) -> Float[Tensor, "6 6"]:
    """Covariance of (rotation vector, translation) for a perturbation on the left, in the frame of the target.

    A point q moved by a small motion (w, v) goes to q + w x q + v. Least squares gives the inverse of the sum of
    J^T J, times the variance of the residuals: along the normals where surfaces are laid on each other, in all
    directions where points are matched with points.
    """
    side, sampling = finish.fit.forward, finish.sampling
    moved, partners, offsets = side.moved, side.partners, side.offsets
    if sampling is Sampling.PARTS or (sampling is Sampling.INDEPENDENT and pair.dense):
        normals = pair.target.normals[partners.indices]
        jacobian = torch.cat([torch.linalg.cross(moved, normals), normals], -1).unsqueeze(-2)
        offsets = (offsets * normals).sum(-1, keepdim=True)
    else:
        eye = torch.eye(3, dtype=moved.dtype).expand(len(moved), 3, 3)
        jacobian = torch.cat([-cross_matrix(moved), eye], -1)
    if finish.noise is not None:  # of every point, whatever is nearest to it
        rows = jacobian.flatten(0, 1)
        return COUPLED * finish.noise * _invert(rows.mT @ rows)
    near = partners.distances <= 3 * partners.distances.median().clamp_min(1e-12)
    if sampling is Sampling.SHARED:
        near = partners.distances <= 1e-2 * pair.target.spacing
    elif sampling is Sampling.PARTS:
        near = partners.distances <= COVERED * pair.target.spacing
    rows, errors = jacobian[near].flatten(0, 1), offsets[near].flatten()
    variance = errors.square().mean().clamp_min(1e-20)
    return _inflation(pair, sampling) * variance * _invert(rows.mT @ rows)


def _invert(information: Float[Tensor, "6 6"]) -> Float[Tensor, "6 6"]:
    """The inverse; a direction that nothing is known of gets a huge variance rather than none."""
    values, vectors = torch.linalg.eigh(information)
    return (vectors / torch.maximum(values, 1e-9 * values[-1])) @ vectors.mT


def _inflation(pair: PreparedPair, sampling: Sampling) -> float:
    if sampling is Sampling.PARTS:
        return PARTS
    if sampling is Sampling.INDEPENDENT:
        return SURFACES if pair.dense else SPARSE_POINTS
    return COPIES if sampling is Sampling.COPIES else SHARED
