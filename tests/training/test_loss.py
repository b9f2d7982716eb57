"""The loss against PyTorch's own: of rows in chunks, of whole models, and of padded batches."""

import contextlib

import pytest
import torch
from helpers.small_model import build
from helpers.small_training import random_batch
from torch.nn import functional

from seq2seq.config.settings import ATTENTION_KINDS
from seq2seq.data.vocabulary import PAD
from seq2seq.model.fast.loss import output_loss
from seq2seq.training.loss import batch_loss

KINDS = pytest.mark.parametrize("kind", ATTENTION_KINDS)
ORDERS = pytest.mark.parametrize("order", ["bahdanau", "luong"])
BOUNDS = {torch.float64: 1e-12, torch.float32: 1e-5, torch.bfloat16: 0.02}


def cross_entropy(logits, targets, smoothing):
    settings = {"ignore_index": PAD, "reduction": "sum", "label_smoothing": smoothing}
    return functional.cross_entropy(logits, targets, **settings)


@pytest.mark.parametrize("dtype", BOUNDS)
@pytest.mark.parametrize(("chunk", "smoothing"), [(1, 0.0), (60, 0.1), (10_000, 0.2)])
def test_rows_in_chunks_have_pytorchs_loss_and_gradient(chunk, smoothing, dtype, monkeypatch):
    """A chunk is a row, two, or all; only products are in bfloat16; 3 is an incoming gradient."""
    monkeypatch.setattr("seq2seq.model.fast.loss.CHUNK_CELLS", chunk)
    monkeypatch.setattr("seq2seq.model.fast.loss.WORD_BLOCK", 7)
    torch.manual_seed(0)
    exact = [torch.randn(40, 16), torch.randn(30, 16) / 4, torch.randn(30)]
    exact = [one.double().requires_grad_() for one in exact]
    targets = torch.randint(0, 30, (40,))
    targets[3] = PAD
    logits = functional.linear(*exact)
    expected = torch.autograd.grad(1.5 * cross_entropy(logits, targets, smoothing), exact)
    mixed = dtype == torch.bfloat16
    leaves = [one.detach().to(torch.float32 if mixed else dtype).requires_grad_() for one in exact]
    with torch.autocast("cpu", torch.bfloat16, enabled=mixed):
        loss = output_loss(*leaves, targets, smoothing, 0.5)
    likelihood = cross_entropy(logits, targets, 0.0).item()
    assert loss.negative_log_likelihood.item() == pytest.approx(likelihood, rel=BOUNDS[dtype])
    found = torch.autograd.grad(3 * loss.smoothed, leaves)
    for mine, theirs in zip(found, expected, strict=True):
        assert (mine - theirs).norm() <= BOUNDS[dtype] * theirs.norm()


@pytest.mark.parametrize("recurrence", ["fast", "reference"])
@ORDERS
@KINDS
def test_models_have_pytorchs_loss_and_gradient_and_padding_changes_nothing(
    kind, order, recurrence
):
    model, batch = build(kind, order=order, recurrence=recurrence), random_batch(9)
    padded = batch.padded()
    assert all(new > old for old, new in zip(batch.source.shape, padded.source.shape, strict=True))
    parameters = list(model.parameters())
    readouts, _ = model(batch.source, batch.source_lengths, batch.target_input)
    logits, targets = model.logits(readouts).flatten(0, 1), batch.target_output.flatten()
    expected = [cross_entropy(logits, targets, share) for share in (0.1, 0.0)]
    gradient = torch.autograd.grad(0.3 * expected[0], parameters, retain_graph=True)
    for each in (batch, padded):
        loss = batch_loss(model, each, smoothing=0.1, scale=0.3)
        assert not loss.negative_log_likelihood.requires_grad
        found = loss.smoothed / 0.3, loss.negative_log_likelihood
        torch.testing.assert_close(found, tuple(expected), rtol=1e-9, atol=1e-12)
        found = torch.autograd.grad(loss.smoothed, parameters)
        torch.testing.assert_close(found, gradient, rtol=1e-9, atol=1e-12)


def test_shapes_of_padded_batches_are_few():
    assert len({random_batch(rows).padded().source.shape for rows in range(65, 129)}) == 4


@ORDERS
@KINDS
def test_no_kind_waits_for_a_gpu(monkeypatch, kind, order):
    """The meta device has no numbers: to ask for one, or to count those that are not 0, fails."""
    monkeypatch.setattr(torch, "is_autocast_enabled", lambda device: False)
    monkeypatch.setattr(torch, "autocast", lambda device, enabled: contextlib.nullcontext())
    model = build(kind, settings={"dropout": 0.1}, order=order).to("meta").train()
    batch_loss(model, random_batch(3, 4).to("meta"), 0.1).smoothed.backward()
    assert all(p.grad is not None for p in model.parameters())
