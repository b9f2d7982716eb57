"""A training on a GPU: the numbers of the processor, resumed, and taken from the one to the other.

``DEVICE`` alone makes these tests of CUDA: with "cpu" in its place they hold, too.
"""

import dataclasses

import pytest
import torch
from helpers.reversal import reversal_experiment, without_dropout
from helpers.small_training import metrics, random_batch, train, train_until, weights

from seq2seq.config import DecodingConfig
from seq2seq.data.text import read_lines
from seq2seq.decoding.translator import Translator
from seq2seq.device import mixed_precision
from seq2seq.model.encoder import Encoder
from seq2seq.model.translation import TranslationModel
from seq2seq.training.graphs import GradientStep

DEVICE = "cuda"
pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device"),
]


def dev_losses(config) -> list[float]:
    return [entry["loss"] for entry in metrics(train(config), "validation")]


@pytest.mark.parametrize(("precision", "tolerance"), [("fp32", 1e-3), ("bf16", 0.01)])
@pytest.mark.parametrize("kind", ["additive", "fixed"])
def test_learns_what_the_processor_learns(folder, kind, precision, tolerance):
    config = without_dropout(reversal_experiment(folder, kind=kind))
    settings = dataclasses.replace(config.training, device=DEVICE, precision=precision)
    there = dataclasses.replace(config, training=settings, name="there")
    assert dev_losses(there) == pytest.approx(dev_losses(config), rel=tolerance)


def test_a_training_in_two_sittings_ends_like_one(folder):
    """With dropout, so that the device's random state counts."""
    config = reversal_experiment(folder, device=DEVICE, deterministic=True)
    whole = dataclasses.replace(config, name="whole")
    run = train_until(config, 15)
    assert dev_losses(config) == dev_losses(whole)
    torch.testing.assert_close(weights(run), weights(train(whole)), rtol=0, atol=0)


def test_a_checkpoint_translates_alike_on_both(folder):
    run = train(reversal_experiment(folder, max_epochs=6, device=DEVICE))
    sentences = list(read_lines(folder / "corpus" / "test.source"))
    for search in (DecodingConfig(beam=1), DecodingConfig(beam=4)):
        mine, theirs = (
            Translator(run.best, device, "fp32").translate(sentences, search)
            for device in ("cpu", DEVICE)
        )
        assert [one.score for one in theirs] == pytest.approx([one.score for one in mine], abs=1e-3)
        same = [one.text == other.text for one, other in zip(mine, theirs, strict=True)]
        assert sum(same) >= 0.98 * len(same)  # a tie may fall either way


def test_under_bfloat16_the_encoder_does_not_compute_in_float16(folder):
    """Small gradients are lost in float16, whose least number is 6e-8; bfloat16's is 1e-40."""
    torch.manual_seed(1)
    encoder = Encoder(16, reversal_experiment(folder).model.encoder, 0.0).to(DEVICE)
    embedded = torch.randn(5, 7, 16, device=DEVICE, requires_grad=True)
    lengths = torch.tensor([7, 5, 3, 2, 1], device=DEVICE)
    gradients = []
    for precision in (torch.float32, torch.bfloat16):
        with mixed_precision(torch.device(DEVICE), precision):
            annotations = encoder(embedded, lengths).annotations
        gradients += torch.autograd.grad(1e-9 * annotations.sum(), embedded)
    exact, mixed = gradients
    assert (mixed - exact).norm() / exact.norm() < 0.03


@pytest.mark.parametrize("precision", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("kind", ["additive", "fixed", "local_p", "coverage"])
def test_a_recorded_graph_computes_what_single_calls_compute(folder, kind, precision):
    """In every bit, dropout included; the batches have one shape and different content."""
    device = torch.device(DEVICE)
    batches = [random_batch(20, seed=seed) for seed in range(4)]
    found = []
    for replayed in (False, True):
        torch.manual_seed(1)
        model = TranslationModel(reversal_experiment(folder, kind).model, 11, 11).to(device).train()
        made = GradientStep(model, device, precision, smoothing=0.1)
        made.add(batches[0], 1.0)
        model.zero_grad(set_to_none=False)
        torch.manual_seed(2)
        losses = []
        for batch in batches:
            if not replayed:
                made = GradientStep(model, device, precision, smoothing=0.1)  # that knows no shape
            losses.append(made.add(batch, 0.5))
        found.append((torch.stack(losses), [parameter.grad for parameter in model.parameters()]))
    torch.testing.assert_close(*found, rtol=0, atol=0)
