from dataclasses import replace

import torch

from deepume import register
from deepume.viewer.choices import candidates, nearest_best

CUBE = torch.cartesian_prod(*3 * [torch.tensor([0.0, 1.0], dtype=torch.float64)])


def test_of_equal_fits_the_nearest_to_a_pose_is_taken() -> None:
    result = register(CUBE, CUBE)
    equal = [k for k, each in enumerate(result.hypotheses) if bool(each.equivalent)]
    assert len(equal) > 3
    for k in equal:
        assert nearest_best(result, result.hypotheses[k].target_from_source) == k


def test_a_worse_fit_is_never_taken_however_near() -> None:
    result = register(CUBE, CUBE)
    worse = replace(result.hypotheses[1], equivalent=torch.tensor(False))
    doubted = replace(result, hypotheses=(result.hypotheses[0], worse))
    assert nearest_best(doubted, worse.target_from_source) == 0


def test_a_method_that_lists_no_hypotheses_has_its_answer_for_a_candidate() -> None:
    result = replace(register(CUBE, CUBE), hypotheses=())
    assert [each.target_from_source for each in candidates(result)] == [result.target_from_source]
