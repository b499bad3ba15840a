import torch
from hypothesis import given

from deepume.geometry.rotation import solve_motion
from deepume.methods.pairwise import map_pairs
from strategies import batch_shapes, random_cloud, random_motion, seeds, worst


@given(seed=seeds(), batch=batch_shapes())
def test_each_pair_gets_its_own_motion(seed: int, batch: tuple[int, ...]) -> None:
    source, motion = random_cloud(seed, *batch, 9), random_motion(seed, *batch)
    found = map_pairs(solve_motion, source, motion.apply(source))
    assert found.rotation.shape == (*batch, 3, 3)
    assert worst(found.rotation, motion.rotation) < 1e-9
    assert worst(found.translation, motion.translation) < 1e-9
    assert torch.equal(found.scale, torch.ones(batch, dtype=torch.float64))
