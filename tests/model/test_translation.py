"""The whole model: padding changes nothing, arms differ in one part, parameters are counted."""

import pytest
import torch
from helpers.small_model import LENGTHS, SOURCE, TARGET, build

from seq2seq.config import AttentionConfig, DecoderConfig, EncoderConfig, ModelConfig
from seq2seq.errors import UserError
from seq2seq.model.attention.additive import AdditiveAttention


@pytest.mark.parametrize("tie", [True, False])
@pytest.mark.parametrize("initialization", ["uniform", "paper"])
def test_arms_of_one_seed_start_from_equal_values_and_draw_equal_numbers(initialization, tie):
    additive = build("additive", initialization=initialization, tie_embedding=tie)
    drawn = torch.rand(3)
    fixed = build("fixed", initialization=initialization, tie_embedding=tie)
    assert torch.equal(torch.rand(3), drawn)
    mine, theirs = additive.state_dict(), fixed.state_dict()
    assert set(mine) - set(theirs) == {name for name in mine if ".attention." in name}
    assert all(torch.equal(mine[name], theirs[name]) for name in theirs)


def test_an_untied_softmax_starts_like_a_tied_one_and_moves_nothing_else():
    tied, untied = (build(widen=40, tie_embedding=tie) for tie in (True, False))
    assert tied.output.weight is tied.target_embedding.weight
    assert untied.output.weight.std().item() == pytest.approx(240**-0.5, rel=0.05)
    assert not torch.equal(untied.output.weight, untied.target_embedding.weight)
    for name, value in tied.state_dict().items():
        assert name == "output.weight" or torch.equal(value, untied.state_dict()[name]), name
    totals = [model.parameter_counts()["total"] for model in (tied, untied)]
    assert totals[1] - totals[0] == 13 * 240


def test_no_parameter_keeps_what_memory_held(monkeypatch):
    class Careless(AdditiveAttention):
        def __init__(self):
            super().__init__(8, 8, AttentionConfig(size=8))
            self.temperature = torch.nn.Parameter(torch.tensor([torch.nan]))

    monkeypatch.setattr("seq2seq.model.decoder.build_attention", lambda *_: Careless())
    assert 0 < build().decoder.attention.temperature.abs() < 1


def test_shapes_are_checked_at_run_time_in_tests():
    """The import hook of conftest is on: a wrong shape is refused, not broadcast."""
    with pytest.raises(Exception, match="Type-check"):
        build()(SOURCE, LENGTHS[:2], TARGET)


@pytest.mark.parametrize(
    ("attention", "decoder", "said"),
    [
        ({"kind": "dot"}, {"hidden_size": 10}, "hidden_size"),
        ({"kind": "multi_head", "size": 10, "heads": 4}, {}, "heads"),
        ({"kind": "multi_head", "size": 10, "heads": 5}, {}, "heads"),
        ({}, {"input_feeding": True}, "input_feeding"),
        ({}, {"order": "luong", "readout": "maxout"}, "readout"),
    ],
)
def test_choices_that_do_not_go_together_are_refused(attention, decoder, said):
    with pytest.raises(UserError, match=said):
        ModelConfig(
            encoder=EncoderConfig(hidden_size=6),
            attention=AttentionConfig(**attention),
            decoder=DecoderConfig(**decoder),
        )
