"""The whole model: arms differ in one part, shapes are checked."""

import pytest
import torch
from helpers.small_model import LENGTHS, SOURCE, TARGET, build


@pytest.mark.parametrize("tie", [True, False])
@pytest.mark.parametrize("initialization", ["uniform", "paper"])
def test_arms_of_one_seed_start_from_equal_values_and_draw_equal_numbers(initialization, tie):
    choices = {"settings": {"initialization": initialization}, "tie_embedding": tie}
    additive = build("additive", **choices).state_dict()
    drawn = torch.rand(3)
    fixed = build("fixed", **choices).state_dict()
    assert torch.equal(torch.rand(3), drawn)
    assert additive.keys() - fixed.keys() == {name for name in additive if ".attention." in name}
    assert all(torch.equal(additive[name], value) for name, value in fixed.items())


def test_an_untied_softmax_has_a_matrix_of_its_own_and_moves_nothing_else():
    tied, untied = build(tie_embedding=True), build(tie_embedding=False)
    assert tied.output.weight is tied.target_embedding.weight
    theirs = untied.state_dict()
    assert not torch.equal(theirs["output.weight"], theirs["target_embedding.weight"])
    for name, value in tied.state_dict().items():
        assert name == "output.weight" or torch.equal(value, theirs[name]), name
    counts = [model.parameter_counts() for model in (tied, untied)]
    assert counts[1] == counts[0] | {"output": 13 + 13 * 6, "total": counts[0]["total"] + 13 * 6}


def test_shapes_are_checked_at_run_time_in_tests():
    """The import hook of conftest is on: a wrong shape is refused, not broadcast."""
    with pytest.raises(Exception, match="Type-check"):
        build()(SOURCE, LENGTHS[:2], TARGET)
