"""Where the weights of a wide model begin, each parameter by its formula."""

import pytest
import torch

from seq2seq.config import AttentionConfig, DecoderConfig, EncoderConfig, ModelConfig
from seq2seq.data.vocabulary import PAD
from seq2seq.model.translation import TranslationModel, initialize

E, H, D, A = 64, 96, 128, 640
"""Widths of embedding, reader, decoder and alignment model."""


def start(kind):
    """Name and value of each parameter, drawn where memory held no numbers."""
    torch.manual_seed(0)
    config = ModelConfig(
        embedding_dim=E,
        encoder=EncoderConfig(hidden_size=H, layers=2),
        attention=AttentionConfig(size=A),
        decoder=DecoderConfig(hidden_size=D, layers=2, tie_embedding=False),
    )
    model = TranslationModel(config, 300, 300)
    for parameter in model.parameters():
        torch.nn.init.constant_(parameter, torch.nan)
    initialize(model, kind)
    return [(name, parameter.detach()) for name, parameter in model.named_parameters()]


@pytest.mark.parametrize("kind", ["uniform", "paper"])
def test_biases_are_zero_but_those_of_open_forget_gates_and_so_is_padding(kind):
    for name, value in start(kind):
        if "bias" in name:
            expected = torch.zeros_like(value)
            if kind == "uniform" and "_gates" in name:
                expected[D : 2 * D] = 1
            assert torch.equal(value, expected), name
        elif "embedding" in name:
            assert not value[PAD].any()


BOUNDS = {  # largest number, by a part of the name; of all others, Xavier's
    **dict.fromkeys(("_gates", "word_query"), D**-0.5),
    **{"_l0": H**-0.5, "vector": A**-0.5},
}


def test_each_matrix_has_the_spread_of_its_formula():
    for name, value in start("uniform"):
        if "embedding" in name or name == "output.weight":
            assert value.std().item() == pytest.approx(E**-0.5, rel=0.05), name
        elif "bias" not in name:
            xavier = (6 / sum(value.shape)) ** 0.5 * (3 if "readout" in name else 1)
            bound = next((BOUNDS[part] for part in BOUNDS if part in name), xavier)
            assert value.abs().max().item() == pytest.approx(bound, rel=0.05), name
            assert value.std().item() == pytest.approx(bound / 3**0.5, rel=0.05), name


def test_the_papers_recurrences_are_orthogonal_gate_by_gate_and_the_rest_is_small():
    for name, value in start("paper"):
        if any(part in name for part in ("weight_hh", "state_gates", "upper_gates.0.w")):
            width = len(value) // 4
            for gate in value[:, -width:].chunk(4):
                eye = torch.eye(width)
                torch.testing.assert_close(gate @ gate.T, eye, atol=1e-5, rtol=0, msg=name)
            value = value[:, :-width]
        if value.dim() == 1:
            assert not value.any()
        elif value.numel():
            spread = 0.001 if ".attention." in name else 0.01
            assert value.std().item() == pytest.approx(spread, rel=0.05), name
