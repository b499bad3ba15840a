"""How tensors are kept in a weights file: as they are, in half precision, or large matrices row by row in 8 bits."""

from __future__ import annotations

from enum import StrEnum

import torch
from torch import Tensor

SCALE = ":scale"
"""Ends the name of the factors that turn the 8-bit rows of a matrix back into numbers."""
LARGE = 4096
"""Entries from which a matrix is worth storing in 8 bits."""
STEPS = 127
"""Steps from zero to the largest entry of a row."""


class Storage(StrEnum):
    """Size of a stored number."""

    FULL = "full"
    HALF = "half"
    """float16: half the size, rounded once."""
    BYTES = "bytes"
    """Large matrices in 8 bits, each row in steps of 1/127 of its largest entry; the rest in float16."""


def pack(state: dict[str, Tensor], storage: Storage) -> dict[str, Tensor]:
    """Tensors as they are written, by name; :func:`unpack` gives them back, rounded."""
    packed: dict[str, Tensor] = {}
    for name, tensor in state.items():
        value = tensor.detach().cpu()
        if storage is Storage.BYTES and value.is_floating_point() and value.dim() >= 2 and value.numel() >= LARGE:
            packed[name], packed[name + SCALE] = _to_bytes(value)
        elif storage is not Storage.FULL and value.is_floating_point():
            packed[name] = value.half().contiguous()
        else:
            packed[name] = value.clone().contiguous()
    return packed


def unpack(stored: dict[str, Tensor]) -> dict[str, Tensor]:
    """Tensors in float32 from what :func:`pack` made of them; integers stay integers."""
    return {name: _widen(value, stored.get(name + SCALE)) for name, value in stored.items() if not name.endswith(SCALE)}


def _to_bytes(matrix: Tensor) -> tuple[Tensor, Tensor]:
    rows = matrix.float()
    # An empty row must not be divided by zero.
    scale = rows.abs().amax(tuple(range(1, rows.dim())), keepdim=True).clamp_min(torch.finfo(torch.float32).tiny)
    return (rows / scale * STEPS).round().to(torch.int8), scale / STEPS


def _widen(value: Tensor, scale: Tensor | None) -> Tensor:
    if scale is not None:
        return value.float() * scale
    return value.float() if value.dtype in (torch.float16, torch.bfloat16) else value
