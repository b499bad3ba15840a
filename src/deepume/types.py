"""Shapes that recur in signatures. Points are rows: ``(..., N, 3)``, any number of leading batch axes."""

from __future__ import annotations

from jaxtyping import Float
from torch import Tensor

Points = Float[Tensor, "*batch N 3"]
"""A cloud, or a batch of clouds with the same number of points."""
Source = Float[Tensor, "*batch N 3"]
"""The cloud that moves."""
Target = Float[Tensor, "*batch M 3"]
"""The cloud that stays; its size may differ from the source's."""
Rotations = Float[Tensor, "*batch 3 3"]
"""Proper rotations: orthonormal, determinant +1."""
Vectors = Float[Tensor, "*batch 3"]
"""Translations, axes, centroids."""
