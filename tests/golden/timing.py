"""Time the networks, and the paper's beside its literal twin, in one run: ``python tests/golden/timing.py [cpu|cuda]``.

On CPU one pair at a time, one pass from one frame; on GPU large batches in half precision, all passes, and a training
step.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

import torch

from deepume.geometry.chamfer import chamfer_squared, rank_by_chamfer
from deepume.geometry.neighbors import neighbor_indices
from deepume.networks.deepume import DeepUME, DeepUMEConfig, PaperDeepUME
from deepume.transform import RigidTransform

MODELS = {"deepume-paper": PaperDeepUME, "deepume": DeepUME, "deepume small": lambda: DeepUME(DeepUMEConfig.small())}


def shapes(batch: int, count: int, device: str) -> torch.Tensor:
    points = torch.randn(batch, count, 3, device=device) * torch.tensor([1.0, 0.6, 0.3], device=device)
    return points + 0.2 * points.square().roll(1, -1)


def milliseconds(work: Callable[[], object], repeats: int, device: str) -> float:
    """Median of several runs after two that warm up."""
    taken = []
    for _ in range(repeats + 2):
        begin = time.perf_counter()
        work()
        if device == "cuda":
            torch.cuda.synchronize()
        taken.append(1e3 * (time.perf_counter() - begin))
    return sorted(taken[2:])[repeats // 2]


def time_cpu() -> None:
    from released_twin import twin_of

    start = RigidTransform.identity(torch.zeros(3))
    for name, make in MODELS.items():
        model = make().eval()
        print(f"{name}: {sum(p.numel() for p in model.parameters()):,} parameters")
        for count in (128, 256, 1024):
            source, target = shapes(1, count, "cpu")[0], shapes(1, count, "cpu")[0]
            one_pass = {} if name == "deepume-paper" else {"initial": start, "passes": 1}
            with torch.inference_mode():
                taken = milliseconds(lambda: model(source, target, **one_pass), 15, "cpu")  # noqa: B023
            print(f"  {count:5} points {taken:7.1f} ms", end="")
            if name == "deepume-paper":
                twin = twin_of(model)
                with torch.inference_mode():
                    literal = milliseconds(lambda: twin(source.mT[None], target.mT[None]), 5, "cpu")  # noqa: B023
                print(f"   twin {literal:7.1f} ms   ratio {literal / taken:.1f}", end="")
            print()


def time_parts(batch: int, count: int) -> None:
    """The searches that no network can avoid."""
    source, target = shapes(batch, count, "cuda"), shapes(batch, count, "cuda")
    for k in (1, 8, 16, 20):
        taken = milliseconds(lambda: neighbor_indices(source, target, k), 10, "cuda")  # noqa: B023
        print(f"{k} nearest of {batch} x {count} points: {taken:.1f} ms")
    ranked = milliseconds(lambda: rank_by_chamfer(source.unsqueeze(-3), torch.stack(8 * [target], -3)), 10, "cuda")
    print(f"Chamfer distances of 8 poses of {batch} pairs: {ranked:.1f} ms", flush=True)


def time_cuda(batch: int = 512, train_batch: int = 256, count: int = 1024) -> None:
    time_parts(batch, count)
    for name, make in MODELS.items():
        torch.cuda.reset_peak_memory_stats()
        model = make().cuda().eval()
        source, target = shapes(batch, count, "cuda"), shapes(batch, count, "cuda")
        with torch.inference_mode(), torch.autocast("cuda", torch.bfloat16):
            taken = milliseconds(lambda: model(source, target), 10, "cuda")  # noqa: B023
        print(f"{name} inference {1e3 * batch / taken:9.0f} pairs/s", end="   ")
        model.train()
        optimizer = torch.optim.Adam(model.parameters(), fused=True)
        source, target = source[:train_batch], target[:train_batch]
        taken = milliseconds(lambda: train_step(model, optimizer, source, target), 10, "cuda")  # noqa: B023
        memory = torch.cuda.max_memory_allocated() / 2**30
        print(f"training {1e3 * train_batch / taken:9.0f} pairs/s   peak {memory:.0f} GiB", flush=True)


def train_step(
    model: torch.nn.Module, optimizer: torch.optim.Optimizer, source: torch.Tensor, target: torch.Tensor
) -> None:
    with torch.autocast("cuda", torch.bfloat16):
        estimate = model(source, target)
    with torch.autocast("cuda", enabled=False):
        loss = chamfer_squared(estimate.target_from_source.apply(source), target).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


if __name__ == "__main__":
    torch.manual_seed(0)
    time_cuda() if sys.argv[1:] == ["cuda"] else time_cpu()
