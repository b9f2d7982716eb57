"""The whole model: padding changes nothing, the arms differ in one part, steps equal forward."""

import pytest
import torch

from seq2seq.config import AttentionConfig, DecoderConfig, EncoderConfig, ModelConfig
from seq2seq.config.model import ATTENTION_KINDS
from seq2seq.data.vocabulary import PAD
from seq2seq.model import translation
from seq2seq.model.attention import AdditiveAttention
from seq2seq.model.translation import TranslationModel

SOURCE = torch.tensor([[5, 6, 7, 3], [8, 3, PAD, PAD], [9, 4, 3, PAD]])
LENGTHS = torch.tensor([4, 2, 3])
TARGET = torch.tensor([[2, 5, 6], [2, 7, PAD], [2, 8, 9]])


def build(
    kind: str = "additive", tie: bool = True, initialization: str = "uniform", layers: int = 1
):
    torch.manual_seed(0)
    config = ModelConfig(
        embedding_dim=6,
        initialization=initialization,
        encoder=EncoderConfig(hidden_size=4),
        attention=AttentionConfig(kind=kind, size=8),
        decoder=DecoderConfig(hidden_size=8, layers=layers, tie_embedding=tie),
    )
    return TranslationModel(config, source_size=11, target_size=13).eval()


@pytest.mark.parametrize("kind", ATTENTION_KINDS)
def test_a_sentence_scores_the_same_in_any_company(kind):
    model = build(kind)
    together = model(SOURCE, LENGTHS, TARGET)
    for row, length in enumerate(LENGTHS.tolist()):
        alone = model(SOURCE[row : row + 1, :length], LENGTHS[row : row + 1], TARGET[row : row + 1])
        torch.testing.assert_close(alone[0], together[row])


@pytest.mark.parametrize("kind", ATTENTION_KINDS)
def test_steps_equal_forward(kind):
    model = build(kind)
    logits = model.logits(model(SOURCE, LENGTHS, TARGET))
    encoded = model.encode(SOURCE, LENGTHS)
    keys, state = model.keys(encoded.memory), model.initial_state(encoded)
    for position in range(TARGET.shape[1]):
        step = model.step(TARGET[:, position], state, encoded, keys)
        torch.testing.assert_close(step.logits, logits[:, position])
        state = step.state


def test_a_parameter_that_nothing_starts_is_found_out(monkeypatch):
    class Careless(AdditiveAttention):
        def __init__(self) -> None:
            super().__init__(8, 8, 8)
            self.temperature = torch.nn.Parameter(torch.empty(1))

    monkeypatch.setattr(translation, "build_attention", lambda *_: Careless())
    with pytest.raises(ValueError, match=r"decoder.attention.temperature has no start; give it"):
        build()


def test_the_arms_differ_in_the_attention_alone():
    additive, fixed = build("additive"), build("fixed")
    counts, baseline = additive.parameter_counts(), fixed.parameter_counts()
    assert counts["attention"] == 8 * 8 + 8 * 8 + 8 + 6 * 8  # W_a, U_a, v_a, W_y
    assert baseline["attention"] == 0
    for part in ("embeddings", "encoder", "decoder", "output"):
        assert counts[part] == baseline[part] > 0
    assert counts["total"] == sum(n for part, n in counts.items() if part != "total")


@pytest.mark.parametrize("initialization", ["uniform", "paper"])
def test_arms_of_one_seed_start_from_equal_values_and_draw_equal_numbers(initialization):
    additive = build("additive", initialization=initialization)
    drawn = torch.rand(3)
    fixed = build("fixed", initialization=initialization)
    assert torch.equal(torch.rand(3), drawn)
    mine, theirs = additive.state_dict(), fixed.state_dict()
    assert set(mine) - set(theirs) == {name for name in mine if ".attention." in name}
    assert all(torch.equal(mine[name], theirs[name]) for name in theirs)


def test_tying_shares_the_target_embedding():
    tied, untied = build(tie=True), build(tie=False)
    assert tied.output.weight is tied.target_embedding.weight
    difference = untied.parameter_counts()["total"] - tied.parameter_counts()["total"]
    assert difference == 13 * 6


def test_an_untied_softmax_starts_like_a_tied_one_and_moves_nothing_else():
    torch.manual_seed(0)
    tied = TranslationModel(ModelConfig(embedding_dim=64), 500, 500)
    config = ModelConfig(embedding_dim=64)
    config.decoder.tie_embedding = False
    torch.manual_seed(0)
    untied = TranslationModel(config, 500, 500)
    assert untied.output.weight.std().item() == pytest.approx(1 / 8, rel=0.05)
    assert not torch.equal(untied.output.weight, untied.target_embedding.weight)
    for name, value in tied.state_dict().items():
        if name != "output.weight":
            assert torch.equal(value, untied.state_dict()[name]), name


def test_no_future_word_reaches_an_earlier_output():
    model = build()
    changed = TARGET.clone()
    changed[:, 2] = 10
    before, after = model(SOURCE, LENGTHS, TARGET), model(SOURCE, LENGTHS, changed)
    torch.testing.assert_close(after[:, :2], before[:, :2])
    assert (after[:, 2] - before[:, 2]).abs().max() > 1e-4


@pytest.mark.parametrize(("initialization", "open_gate"), [("uniform", 1.0), ("paper", 0.0)])
def test_upper_layers_of_the_decoder_start_like_the_lowest(initialization, open_gate):
    decoder = build(initialization=initialization, layers=3).decoder
    assert len(decoder.upper_gates) == 2
    for linear in [decoder.state_gates, *decoder.upper_gates]:
        for block in linear.weight[:, -8:].chunk(4):
            orthogonal = torch.allclose(block @ block.T, torch.eye(8), atol=1e-5)
            assert orthogonal == (initialization == "paper")
            assert block.abs().max() <= (1 if orthogonal else 8**-0.5)
    for upper in decoder.upper_gates:
        assert upper.bias.tolist() == [0.0] * 8 + [open_gate] * 8 + [0.0] * 16


def test_paper_initialization_is_that_of_appendix_b1():
    model = build(initialization="paper")
    attention = model.decoder.attention
    assert attention.score.abs().max() == 0
    assert attention.query.weight.std().item() == pytest.approx(0.001, rel=0.5)
    assert model.decoder.readout_layer.weight.std().item() == pytest.approx(0.01, rel=0.5)
    assert all(p.abs().max() == 0 for n, p in model.named_parameters() if n.endswith("bias"))
    for block in model.encoder.backwards[0].weight_hh_l0.chunk(4):
        torch.testing.assert_close(block @ block.T, torch.eye(4))


def test_shapes_are_checked_at_run_time_in_tests():
    """The import hook of conftest is on: a wrong shape is refused, not broadcast."""
    with pytest.raises(Exception, match="Type-check"):
        build()(SOURCE, LENGTHS[:2], TARGET)
