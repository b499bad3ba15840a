"""One table of tolerances per dtype. Loosening an entry needs a reason in the diff."""

import torch

ROUNDING = {torch.float32: 2e-5, torch.float64: 1e-12}
"""Closed forms on clouds of about unit size: products of a few 3 x 3 matrices, sums over some hundred points."""
SPECTRUM = {torch.float32: 2e-3, torch.float64: 1e-9}
"""Eigenvectors and singular vectors: rounding, divided by gaps of some percent."""
EXACT_FIT = {torch.float32: 1e-4, torch.float64: 1e-9}
"""Iterations that end at a fixed point, on clouds that coincide point by point."""
