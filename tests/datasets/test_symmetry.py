import pytest
import torch

from deepume.datasets.shapes.shape import make_shape
from deepume.datasets.shapes.symmetry_groups import symmetric


@pytest.mark.parametrize(
    ("generators", "size"),
    [
        ((), 1),
        ((("z", 2),), 2),
        ((("z", 5),), 5),
        ((("x", 2), ("y", 2), ("z", 2)), 4),
        ((("z", 7), ("x", 2)), 14),
        ((("x", 4), ("z", 4)), 24),
        ((("z", 0),), 12),
        ((("z", 0), ("x", 2)), 24),
        ((("z", 0), ("x", 0)), 24),
    ],
)
def test_groups_have_their_size_and_are_closed(generators: tuple[tuple[str, int], ...], size: int) -> None:
    group = symmetric(*generators)
    rotations = group.rotations()
    assert len(rotations) == size
    assert group.is_trivial == (size == 1)
    assert torch.equal(rotations[0], torch.eye(3, dtype=torch.float64))
    assert (torch.linalg.det(rotations) - 1).abs().max() < 1e-9
    products = (rotations[:, None] @ rotations[None]).reshape(-1, 1, 3, 3)
    assert (products - rotations).abs().amax((-2, -1)).min(-1).values.max() < 1e-6


def test_tetrahedron_has_twelve_rotations() -> None:
    assert len(make_shape("tetrahedron", generator=torch.Generator()).symmetry.rotations()) == 12


def test_steps_of_a_continuous_axis_are_free() -> None:
    assert len(symmetric(("z", 0)).rotations(steps=36)) == 36
