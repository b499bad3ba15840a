"""Several processes, one run: ``torchrun --nproc-per-node 4 -m deepume.cli.main train RECIPE ...``.

Gradients are averaged by one explicit reduction after the backward pass. The networks have about a million weights, so
nothing is gained by overlapping the two, and a loss may call any method of the network, not only ``forward``.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn


@dataclass(frozen=True, slots=True)
class World:
    """Which process this is, of how many."""

    rank: int = 0
    size: int = 1
    local_rank: int = 0

    @property
    def leads(self) -> bool:
        """True for the one process that validates, logs and saves."""
        return self.rank == 0

    def agree(self, *values: float) -> list[float]:
        """The leader's numbers, known to all: clocks and interrupts differ between processes."""
        if self.size == 1:
            return list(values)
        shared = torch.tensor(values, dtype=torch.float64)
        dist.broadcast(shared, src=0)
        return shared.tolist()

    def average_gradients(self, parameters: Iterable[nn.Parameter]) -> None:
        """Replace each gradient by its mean over the processes."""
        if self.size == 1:
            return
        gradients = [parameter.grad for parameter in parameters if parameter.grad is not None]
        flat = torch.cat([gradient.flatten() for gradient in gradients])
        dist.all_reduce(flat)
        parts = (flat / self.size).split([gradient.numel() for gradient in gradients])
        for part, gradient in zip(parts, gradients, strict=True):
            gradient.copy_(part.view_as(gradient))

    def share_weights(self, network: nn.Module) -> None:
        """Start every process from the leader's weights."""
        if self.size > 1:
            for tensor in network.state_dict().values():
                dist.broadcast(tensor, src=0)

    def gather(self, value: Any) -> list[Any]:
        """The value of every process, in the order of their ranks."""
        if self.size == 1:
            return [value]
        values = [None] * self.size
        dist.all_gather_object(values, value)
        return values

    def mean(self, value: Tensor) -> Tensor:
        """Mean over the processes."""
        if self.size > 1:
            dist.all_reduce(value)
        return value / self.size


def join_world() -> World:
    """The processes that ``torchrun`` started, or only this one.

    Differs from the style guide, which allows no environment variables: ``torchrun`` passes its numbers in them.
    """
    if int(os.environ.get("WORLD_SIZE", "1")) == 1:
        return World()
    if torch.cuda.is_available():
        torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    if not dist.is_initialized():
        dist.init_process_group("cpu:gloo,cuda:nccl" if torch.cuda.is_available() else "gloo")
    return World(dist.get_rank(), dist.get_world_size(), int(os.environ["LOCAL_RANK"]))
