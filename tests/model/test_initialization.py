"""Where the weights of a wide model begin, each parameter by the formula that it is given."""

import pytest
import torch

from seq2seq.config import AttentionConfig, DecoderConfig, EncoderConfig, ModelConfig
from seq2seq.data.vocabulary import PAD
from seq2seq.model.translation import TranslationModel

WORDS, E, H, M, D, A = 300, 64, 96, 192, 128, 160
"""Words of either side; widths of embedding, reader, annotation, decoder and alignment model."""


@pytest.fixture(params=["uniform", "paper"])
def initialization(request) -> str:
    return request.param


@pytest.fixture
def started(initialization) -> dict[str, torch.Tensor]:
    """Name -> its start; the parts of a matrix that start by themselves apart."""
    torch.manual_seed(0)
    config = ModelConfig(
        embedding_dim=E,
        initialization=initialization,
        encoder=EncoderConfig(hidden_size=H, layers=2),
        attention=AttentionConfig(size=A),
        decoder=DecoderConfig(hidden_size=D, layers=2),
    )
    parts = {}
    for name, parameter in TranslationModel(config, WORDS, WORDS).named_parameters():
        value = parameter.detach()
        if name.endswith("embedding.weight"):
            assert not value[PAD].any()
            value = value[PAD + 1 :]
        if "_gates" in name or "_l0" in name:
            for gate, block in zip("ifgo", value.chunk(4), strict=True):
                own = name.startswith(("decoder.state_gates", "decoder.upper_gates.0.w"))
                if own:
                    parts[f"{name} {gate} own"] = block[:, -D:]
                parts[f"{name} {gate}"] = block[:, :-D] if own else block
        else:
            parts[name] = value
    return parts


def recurrent(name: str) -> bool:
    return "weight_hh" in name or name.endswith(" own")


@pytest.mark.parametrize("initialization", ["paper"], indirect=True)
def test_the_papers_recurrences_are_orthogonal_gate_by_gate(started):
    found = {name: value for name, value in started.items() if recurrent(name)}
    assert len(found) == 4 * (2 * 2 + 2)  # readers of both directions, and layers of the decoder
    for name, value in found.items():
        eye = torch.eye(len(value))
        torch.testing.assert_close(value @ value.T, eye, atol=1e-5, rtol=0, msg=name)


def test_biases_are_zero_but_those_of_open_forget_gates(started, initialization):
    opened = {name for name, value in started.items() if "bias" in name and value.any()}
    assert all((started[name] == 1).all() for name in opened)
    forget = {name for name in started if name.endswith(" f") and "bias" in name}
    forget -= {name for name in forget if "bias_hh" in name}
    forget = {name for name in forget if name.startswith("decoder.")}
    assert len(forget) == 2
    assert opened == (forget if initialization == "uniform" else set())


def test_each_product_has_the_spread_of_its_formula(started, initialization):
    """Rows of an embedding E^-1/2, gates H^-1/2 or D^-1/2, v_a A^-1/2, Xavier; or appendix B.1's.

    The readout has three times Xavier's bound.
    """
    paper = initialization == "paper"
    weights = {n: v for n, v in started.items() if "bias" not in n}
    weights = {n: v for n, v in weights.items() if not (paper and recurrent(n))}
    assert len(weights) == 1 + 4 * (2 * 2 + 3 + (0 if paper else 2 * 2 + 2)) + 3 + 4
    for name, value in weights.items():
        attends = ".attention." in name
        if initialization == "paper":
            spread = 0.001 if attends else 0.01
            if name.endswith("vector"):
                assert not value.any()
                continue
            found = value.std().item()
        elif name.endswith("embedding.weight"):
            found, spread = value.std().item(), E**-0.5
        elif name.endswith("vector"):
            found, spread = value.abs().max().item(), A**-0.5
        else:
            spread = (6 / sum(value.shape)) ** 0.5 * (3 if "readout" in name else 1)
            if "_gates" in name or "_l0" in name or "word_query" in name:
                spread = (H if name.startswith("encoder") else D) ** -0.5
            found = value.abs().max().item()
            assert value.std().item() == pytest.approx(spread / 3**0.5, rel=0.05), name
        assert found == pytest.approx(spread, rel=0.05), name
