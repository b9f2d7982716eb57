"""Batches are full, in range and repeatable; models have the widths that their size names."""

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from seq2seq.benchmark.sizes import SIZES, Size
from seq2seq.config import ModelConfig
from seq2seq.data.vocabulary import BOS, EOS, SPECIALS
from seq2seq.model.translation import TranslationModel

SIZE = Size(6, 4, 7, 5, vocabulary=12, batch=50, source=9, target=8)


def test_batches_are_full_rows_of_pieces():
    batch = SIZE.random_batch(seed=3)
    assert batch.source.shape == (50, 9)
    assert batch.target_input.shape == batch.target_output.shape == (50, 8)
    assert batch.source_lengths.eq(9).all()
    assert len(batch.target_cells) == SIZE.target_tokens
    assert batch.target_input[:, 0].eq(BOS).all()
    assert batch.target_output[:, -1].eq(EOS).all()
    torch.testing.assert_close(batch.target_input[:, 1:], batch.target_output[:, :-1])
    for pieces in (batch.source, batch.target_input[:, 1:]):
        assert set(pieces.unique().tolist()) == set(range(len(SPECIALS), 12))


def test_equal_seeds_give_equal_batches():
    assert SIZE.random_batch(3).source.equal(SIZE.random_batch(3).source)
    assert not SIZE.random_batch(3).source.equal(SIZE.random_batch(4).source)


@pytest.mark.parametrize("kind", ["additive", "fixed"])
def test_the_model_has_the_widths_of_its_size(kind):
    model = TranslationModel(SIZE.model(kind, "fast"), SIZE.vocabulary, SIZE.vocabulary)
    assert model.encoder.memory_size == 2 * 4
    assert model.output.weight.shape == (12, 6)
    assert model.output.weight is model.target_embedding.weight
    assert model.decoder.state_gates.weight.shape == (4 * 7, 2 * 4 + 7)
    assert model.parameter_counts()["attention"] == (
        5 * (7 + 2 * 4 + 1) + 7 * 6 if kind == "additive" else 0
    )


def test_m_is_the_default_model():
    assert SIZES["m"].model("additive", "fast") == ModelConfig()


@pytest.mark.parametrize("kind", ["additive", "fixed"])
def test_operations_are_those_that_pytorch_counts(kind):
    """Save for a first step here and there that needs no gradient of its zeros."""
    size = Size(6, 4, 7, 5, vocabulary=12, batch=3, source=40, target=40)
    model = TranslationModel(size.model(kind, "fast"), 12, 12).double()
    batch = size.random_batch(1)
    with FlopCounterMode(display=False) as counter:
        outputs = model(batch.source, batch.source_lengths, batch.target_input)
        model.logits(outputs).sum().backward()
    counted = counter.get_flop_counts()["Global"]
    products = counted[torch.ops.aten.mm] + counted[torch.ops.aten.addmm]
    assert products == pytest.approx(size.operations(kind), rel=0.02)
