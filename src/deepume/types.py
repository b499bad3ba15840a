"""Shapes that recur in signatures. Points are rows: ``(..., N, 3)``, any number of leading batch axes."""

from __future__ import annotations

from jaxtyping import Float
from torch import Tensor

Points = Float[Tensor, "*batch N 3"]
"""A cloud, or a batch of clouds with the same number of points."""
Rotations = Float[Tensor, "*batch 3 3"]
"""Proper rotations: orthonormal, determinant +1."""
Vectors = Float[Tensor, "*batch 3"]
"""Translations, axes, centroids."""
