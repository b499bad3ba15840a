"""The frames that the paper's network starts from."""

import torch

from deepume.networks.paper import PaperDeepUME, ProperPaperDeepUME
from pairs import skewed_cloud


def test_eight_sign_patterns_allow_a_mirror_and_four_do_not():
    source = skewed_cloud(4, 60, seed=1)
    mirrored = source * torch.tensor([1.0, 1.0, -1.0], dtype=torch.float64)
    kept = [_between_frames(kind().double(), source, mirrored) for kind in (PaperDeepUME, ProperPaperDeepUME)]
    assert kept[0].max() < 0 < kept[1].min()
    same = [_between_frames(kind().double(), source, source) for kind in (PaperDeepUME, ProperPaperDeepUME)]
    # Signs, not values: a least-squares solver may round differently from call to call.
    assert torch.equal(*(each.sign() for each in same))


def _between_frames(network: PaperDeepUME, source: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """Positive where a rotation lies between the two frames, negative where a mirror does."""
    canonical = network(source, target).canonical
    axes = [torch.linalg.lstsq(cloud - cloud.mean(-2, keepdim=True), local).solution
            for cloud, local in zip((source, target), canonical, strict=True)]  # fmt: skip
    return torch.linalg.det(axes[0]) * torch.linalg.det(axes[1])
