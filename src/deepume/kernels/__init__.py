"""Triton kernels for GPUs; each does what a plain function elsewhere defines, only faster.

Triton comes with GPU builds of torch, so the modules here are imported where they are used.
"""

from __future__ import annotations

from importlib.util import find_spec

import torch

HAS_TRITON = find_spec("triton") is not None


def has_kernels(device: torch.device) -> bool:
    """True on a GPU where Triton is installed."""
    return HAS_TRITON and device.type == "cuda"
