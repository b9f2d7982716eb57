"""Gradients of padded batches; on a GPU, those of recorded graphs."""

import pytest
import torch
from helpers.reversal import reversal_experiment, write_reversal_corpus

from seq2seq.config import (
    ATTENTION_KINDS,
    AttentionConfig,
    DecoderConfig,
    EncoderConfig,
    ModelConfig,
)
from seq2seq.data.batching import collate
from seq2seq.data.preparation import prepare
from seq2seq.model.translation import TranslationModel
from seq2seq.training.graphs import GradientStep
from seq2seq.training.loss import batch_loss

gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")


@pytest.fixture(scope="module")
def pairs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pairs")
    write_reversal_corpus(folder / "corpus", longest=10)
    config = reversal_experiment(folder)
    return prepare(config.corpus, config.tokenization, folder / "data").train


def small_model(kind="additive", order="bahdanau", dropout=0.0):
    torch.manual_seed(1)
    config = ModelConfig(
        embedding_dim=8,
        encoder=EncoderConfig(hidden_size=8),
        attention=AttentionConfig(kind=kind, size=16),
        decoder=DecoderConfig(hidden_size=16, order=order),
        dropout=dropout,
    )
    return TranslationModel(config, 30, 30)


def gradients_of(model):
    return {name: p.grad.clone() for name, p in model.named_parameters() if p.grad is not None}


@pytest.mark.parametrize("order", ["bahdanau", "luong"])
@pytest.mark.parametrize("kind", ATTENTION_KINDS)
def test_padding_changes_no_gradient(pairs, kind, order):
    batch = collate(pairs, range(9))
    assert batch.padded().source.numel() > batch.source.numel()
    found = []
    for each in (batch, batch.padded()):
        model = small_model(kind, order).double()
        loss = batch_loss(model, each, smoothing=0.1, scale=0.3)
        loss.smoothed.backward()
        found.append({"loss": loss.negative_log_likelihood, **gradients_of(model)})
    torch.testing.assert_close(found[1], found[0], rtol=1e-9, atol=1e-12)


def test_padding_is_little_and_shapes_are_few(pairs):
    sizes = {n: len(collate(pairs, [0] * n).padded().source) for n in range(1, 129)}
    assert all(n <= padded <= max(8, 1.25 * n) for n, padded in sizes.items())
    assert len({sizes[n] for n in range(65, 129)}) == 4


@pytest.mark.gpu
@gpu
@pytest.mark.parametrize("precision", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("kind", ["additive", "fixed", "local_p", "coverage"])
def test_a_recorded_graph_computes_what_single_calls_compute(pairs, kind, precision):
    """In every bit, dropout included; the batches have one shape and different content."""
    device = torch.device("cuda")
    batches = [collate(pairs, range(first, first + 20)) for first in range(20, 100, 20)]
    assert len({batch.padded().source.shape for batch in batches}) == 1
    found = []
    for replayed in (False, True):
        model = small_model(kind, dropout=0.3).to(device).train()
        made = GradientStep(model, device, precision, smoothing=0.1)
        made.add(batches[0], 1.0)
        model.zero_grad(set_to_none=False)
        torch.manual_seed(2)
        sums = []
        for batch in batches:
            if not replayed:
                made = GradientStep(model, device, precision, smoothing=0.1)  # that knows no shape
            sums.append(made.add(batch, 0.5))
        found.append({"losses": torch.stack(sums), **gradients_of(model)})
    torch.testing.assert_close(found[1], found[0], rtol=0, atol=0)
