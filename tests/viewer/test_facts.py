from dataclasses import dataclass, replace

import torch

from deepume import Registration, Symmetry, register
from deepume.viewer.facts import confidence_words, other_facts, pair_rows, symmetry_words, time_rows, trust_rows
from deepume.viewer.scene import FAR, make_scene
from sampled_pairs import clouds


def registered() -> Registration:
    return register(*clouds(200, 200)[:2])


def test_what_was_not_estimated_is_not_made_up() -> None:
    result = replace(registered(), confidence=None, symmetry=None)
    facts = dict(trust_rows(result))
    assert facts["confidence"] == facts["symmetry"] == "not estimated by this method"


def test_confidence_comes_with_its_meaning() -> None:
    words = confidence_words(replace(registered(), confidence=torch.tensor(0.973, dtype=torch.float64)))
    assert words.startswith("97.3%: of 1,000 answers this sure, about 973 are right")


def test_symmetry_is_named_axis_by_axis() -> None:
    axes = torch.tensor([[0.0, 0, 1], [1, 0, 0]], dtype=torch.float64)
    assert symmetry_words(Symmetry(axes, (0, 2))) == (
        "any angle about (0.000, 0.000, 1.000); 2-fold about (1.000, 0.000, 0.000)"
    )
    assert symmetry_words(Symmetry(axes[:0], ())) == "none found"


def test_rivals_are_counted() -> None:
    cube = torch.cartesian_prod(*3 * [torch.tensor([0.0, 1.0], dtype=torch.float64)])
    result = register(cube, cube)
    rivals = sum(bool(each.equivalent) for each in result.hypotheses[1:])
    assert dict(trust_rows(result))["rivals"] == f"{rivals} other poses fit as well as the best."


def test_a_field_that_is_new_is_shown_under_its_own_name() -> None:
    @dataclass
    class Extended:
        score: float
        overlap_share: torch.Tensor
        name: str
        points: torch.Tensor
        missing: None = None

    facts = other_facts(Extended(1.0, torch.tensor(0.25), "prism", torch.zeros(3)), told=("score",))
    assert facts == [("overlap share", "0.25"), ("name", "prism")]


def test_thinning_and_moving_for_display_are_stated() -> None:
    source, target, _ = clouds(300, 200)
    rows = dict(pair_rows(make_scene(source, target, shown=250), None))
    assert rows["source"] == "300 points, 250 of them drawn at random"
    assert rows["target"] == "200 points"
    assert "as given" not in rows
    assert "drawn nearer" in dict(pair_rows(make_scene(source + 10 * FAR, target), None))["as given"]


def test_times_add_up() -> None:
    rows = [float(words.split()[0].replace(",", "")) for _, words in time_rows(registered().diagnostics)]
    assert abs(sum(rows[:-1]) - rows[-1]) < 0.1 * len(rows)
