"""The default method: hypotheses from cheap to dear, refinement by evidence, confidence, symmetry, covariance."""

from deepume.auto.method import AUTO, Auto

__all__ = ["AUTO", "Auto"]
