"""The loss against PyTorch's own and against finite differences."""

import contextlib

import pytest
import torch
from torch.nn import functional

from seq2seq.config import AttentionConfig, DecoderConfig, EncoderConfig, ModelConfig
from seq2seq.config.model import ATTENTION_KINDS
from seq2seq.data.batching import Batch
from seq2seq.data.vocabulary import PAD
from seq2seq.model.fast.loss import output_loss
from seq2seq.model.translation import TranslationModel
from seq2seq.training.loss import batch_loss, smoothed_cross_entropy


def make_batch(rows: list[int]) -> Batch:
    source = torch.tensor([[5, 6, 3], [7, 3, PAD], [8, 9, 3]])[rows]
    output = torch.tensor([[5, 6, 7, 3], [8, 3, PAD, PAD], [9, 10, 3, PAD]])[rows]
    start = torch.full((len(rows), 1), 2)
    return Batch(
        source,
        torch.tensor([3, 2, 3])[rows],
        torch.cat([start, output[:, :-1]], dim=1),
        output,
        torch.tensor([i for i, token in enumerate(output.flatten()) if token != PAD]),
    )


@pytest.mark.parametrize("recurrence", ["fast", "reference"])
def test_equals_pytorchs_cross_entropy_over_real_tokens(recurrence):
    torch.manual_seed(0)
    config = ModelConfig(
        embedding_dim=6,
        encoder=EncoderConfig(hidden_size=4),
        attention=AttentionConfig(size=5),
        decoder=DecoderConfig(hidden_size=7, recurrence=recurrence),
    )
    model, batch = TranslationModel(config, 11, 13).eval(), make_batch([0, 1, 2])
    readouts, _ = model(batch.source, batch.source_lengths, batch.target_input)
    logits = model.logits(readouts)
    logits, output = logits.flatten(0, 1), batch.target_output.flatten()
    smoothed, likelihood = (
        functional.cross_entropy(
            logits, output, ignore_index=PAD, reduction="sum", label_smoothing=share
        )
        for share in (0.1, 0.0)
    )
    found = batch_loss(model, batch, 0.1)
    torch.testing.assert_close(found.smoothed, smoothed)
    torch.testing.assert_close(found.negative_log_likelihood, likelihood)
    assert not found.negative_log_likelihood.requires_grad


@pytest.mark.parametrize("order", ["bahdanau", "luong"])
@pytest.mark.parametrize("kind", ATTENTION_KINDS)
def test_no_kind_waits_for_a_gpu(monkeypatch, kind, order):
    """The meta device has no numbers: whatever asks for one, or for as many as are not 0, fails."""
    monkeypatch.setattr(torch, "is_autocast_enabled", lambda device: False)
    monkeypatch.setattr(torch, "autocast", lambda device, enabled: contextlib.nullcontext())
    config = ModelConfig(attention=AttentionConfig(kind=kind), decoder=DecoderConfig(order=order))
    model = TranslationModel(config, 11, 13).to("meta").train()
    batch_loss(model, make_batch([0, 1, 2]).to("meta"), 0.1).smoothed.backward()
    assert all(p.grad is not None for p in model.parameters())


@pytest.mark.parametrize(("smoothing", "scale"), [(0.0, 1.0), (0.2, 0.3)])
def test_the_gradient_is_right_and_honours_the_incoming_one(smoothing, scale, monkeypatch):
    """By finite differences in float64, across several chunks, scaled by what comes after."""
    monkeypatch.setattr("seq2seq.model.fast.loss.CHUNK_CELLS", 14)  # two rows of seven at a time
    monkeypatch.setattr("seq2seq.model.fast.loss.WORD_BLOCK", 3)
    torch.manual_seed(0)
    outputs, weight, bias = (
        torch.randn(*shape, dtype=torch.float64, requires_grad=True)
        for shape in ((5, 3), (7, 3), (7,))
    )
    targets = torch.tensor([0, 6, 2, 2, 4])

    def scaled(outputs, weight, bias):
        return 3 * output_loss(outputs, weight, bias, targets, smoothing, scale).smoothed

    assert torch.autograd.gradcheck(scaled, (outputs, weight, bias))


@pytest.mark.parametrize("chunk", [1, 60, 10_000], ids=["a row", "two rows", "all rows"])
def test_chunks_of_any_size_give_the_same_gradients_in_float32(chunk, monkeypatch):
    """By the machine's own kernels, as by the plain loss; a chunk holds a row at least."""
    monkeypatch.setattr("seq2seq.model.fast.loss.CHUNK_CELLS", chunk)
    monkeypatch.setattr("seq2seq.model.fast.loss.WORD_BLOCK", 7)
    torch.manual_seed(0)
    leaves = [torch.randn(*shape, requires_grad=True) for shape in ((7, 3), (30, 3), (30,))]
    targets = torch.randint(0, 30, (7,))
    targets[3] = PAD
    plain = smoothed_cross_entropy(functional.linear(*leaves), targets, 0.1, 0.5)
    losses = output_loss(*leaves, targets, 0.1, 0.5), plain
    torch.testing.assert_close(*(loss.negative_log_likelihood for loss in losses))
    found = [torch.autograd.grad(loss.smoothed, leaves) for loss in losses]
    torch.testing.assert_close(*found, atol=1e-6, rtol=1e-5)


def test_bfloat16_products_keep_the_gradient_close():
    torch.manual_seed(0)
    values = [torch.randn(40, 16), torch.randn(30, 16) / 4, torch.zeros(30)]
    targets = torch.randint(0, 30, (40,))

    def gradients(enabled):
        leaves = [value.clone().requires_grad_() for value in values]
        with torch.autocast("cpu", torch.bfloat16, enabled=enabled):
            output_loss(*leaves, targets, 0.1).smoothed.backward()
        return [leaf.grad for leaf in leaves]

    for exact, mixed in zip(gradients(False), gradients(True), strict=True):
        assert (mixed - exact).norm() / exact.norm() < 0.02
