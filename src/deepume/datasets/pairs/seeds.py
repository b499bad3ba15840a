"""Generators seeded by text, so that a draw depends on its purpose and on nothing else."""

from __future__ import annotations

import hashlib

import torch


def generator_for(text: str) -> torch.Generator:
    """A CPU generator seeded by the SHA-256 of ``text``: equal texts draw equal numbers on every machine."""
    digest = hashlib.sha256(text.encode()).digest()
    return torch.Generator().manual_seed(int.from_bytes(digest[:8], "big") >> 1)


def fraction_for(text: str) -> float:
    """A number in [0, 1) that depends only on ``text``; splits by it survive additions and reordering."""
    digest = hashlib.sha256(text.encode()).digest()
    return int.from_bytes(digest[:6], "big") / 2**48
