"""A training on a GPU: the numbers of the processor, resumed, and taken from the one to the other.

``DEVICE`` alone makes these tests of CUDA: with "cpu" in its place they hold, too.
"""

import dataclasses

import pytest
import torch
from helpers.reversal import reversal_experiment, without_dropout
from helpers.small_training import metrics, train, weights

from seq2seq.config import DecodingConfig
from seq2seq.data.text import read_lines
from seq2seq.decoding.translator import Translator
from seq2seq.device import mixed_precision
from seq2seq.model.encoder import Encoder

DEVICE = "cuda"
pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device"),
]


def dev_losses(run):
    return [entry["loss"] for entry in metrics(run) if entry["kind"] == "validation"]


@pytest.mark.parametrize(("precision", "tolerance"), [("fp32", 1e-3), ("bf16", 0.01)])
@pytest.mark.parametrize("kind", ["additive", "fixed"])
def test_learns_what_the_processor_learns(folder, kind, precision, tolerance):
    config = without_dropout(reversal_experiment(folder, kind=kind))
    on_cpu = train(config)
    settings = dataclasses.replace(config.training, device=DEVICE, precision=precision)
    elsewhere = dataclasses.replace(config, training=settings, output=str(folder / "elsewhere"))
    assert dev_losses(train(elsewhere)) == pytest.approx(dev_losses(on_cpu), rel=tolerance)


def test_a_training_in_two_sittings_ends_like_one(folder, caplog):
    """With dropout, so that the device's random state counts."""
    config = reversal_experiment(folder, max_epochs=4, device=DEVICE, deterministic=True)
    whole = train(config)
    apart = dataclasses.replace(config, output=str(folder / "apart"))
    first = dataclasses.replace(apart.training, max_epochs=2)
    train(dataclasses.replace(apart, training=first))
    run_folder = folder / "apart" / "reversal" / "attention" / "seed-1"
    for name in ("run.json", "config.json"):  # as if the first had been cut off
        (run_folder / name).unlink()
    with caplog.at_level("INFO"):
        again = train(apart)
    assert "Resuming" in caplog.text
    assert dev_losses(again)[-2:] == dev_losses(whole)[-2:]
    for name, tensor in weights(whole).items():
        assert torch.equal(weights(again)[name], tensor), name


def test_a_checkpoint_translates_alike_on_both(folder):
    run = train(reversal_experiment(folder, max_epochs=6, device=DEVICE))
    sentences = list(read_lines(folder / "corpus" / "test.source"))
    for search in (DecodingConfig(beam=1), DecodingConfig(beam=4)):
        found = [
            Translator(run.best, device, "fp32").translate(sentences, search)
            for device in ("cpu", DEVICE)
        ]
        for mine, theirs in zip(*found, strict=True):
            assert theirs.score == pytest.approx(mine.score, abs=1e-3)
        same = [mine.text == theirs.text for mine, theirs in zip(*found, strict=True)]
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
        (gradient,) = torch.autograd.grad(1e-9 * annotations.sum(), embedded)
        gradients.append(gradient)
    error = (gradients[1] - gradients[0]).norm() / gradients[0].norm()
    assert error < 0.03
