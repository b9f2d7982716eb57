"""minimal.py against the package: the same losses from the same weights, and the same curve."""

import random
import re
from pathlib import Path

import pytest
import torch
from helpers.commands import ROOT
from helpers.reversal import reversal_experiment, without_dropout

import minimal
from seq2seq.config import GrammarCorpus, OptimizerConfig
from seq2seq.data.batching import Batch
from seq2seq.data.grammar import write_corpus
from seq2seq.model.translation import TranslationModel
from seq2seq.training.loss import batch_loss
from seq2seq.training.optimization import build_optimizer, clipped_step, learning_rate

WIDTH, WORDS, UPDATES = 16, 20, 50
CPU = torch.device("cpu")


def ragged_batches():
    rng = random.Random(0)

    def sentence():
        return [rng.randrange(4, WORDS) for _ in range(rng.randrange(1, 7))] + [minimal.END]

    return [[(sentence(), sentence()) for _ in range(5)] for _ in range(UPDATES)]


def of_the_package(kind):
    config = without_dropout(reversal_experiment(Path(), kind)).model
    config.decoder.recurrence = "reference"
    return TranslationModel(config, WORDS, WORDS).double()


def weights(model):
    """The weights of minimal.py's translator in a model of the package."""
    decoder, found = model.decoder, {}
    found["source_words.weight"] = model.source_embedding.weight
    found["target_words.weight"] = model.target_embedding.weight
    for name, lstms in (("ahead", model.encoder.forwards), ("back", model.encoder.backwards)):
        found |= {f"{name}.{key}": value for key, value in lstms[0].state_dict().items()}
    for name, part in (("start", decoder.initial), ("readout", decoder.readout_layer)):
        found |= {f"{name}.{key}": value for key, value in part.state_dict().items()}
    joined = torch.cat([decoder.input_gates.weight, decoder.state_gates.weight], dim=1)
    found |= {"gates.weight": joined, "gates.bias": decoder.input_gates.bias}
    found["bias"] = model.output.bias
    if decoder.attention.attends:
        attention = decoder.attention
        found["attention.W_a.weight"] = attention.query.weight
        found["attention.U_a.weight"] = attention.key.weight
        found["attention.v_a.weight"] = attention.vector[None]
        found["attention.W_y.weight"] = attention.word_query.weight
    return found


def losses_of_the_package(model, batches):
    config = OptimizerConfig(learning_rate=0.002, warmup_updates=10, schedule="linear")
    optimizer = build_optimizer(model, config)
    for update, pairs in enumerate(batches, 1):
        source, target = (minimal.rows(side, CPU) for side in zip(*pairs, strict=True))
        before = torch.nn.functional.pad(target[:, :-1], (1, 0), value=minimal.BEGIN)
        real = target.flatten().nonzero()[:, 0]
        batch = Batch(source, (source != minimal.PAD).sum(dim=1), before, target, real)
        optimizer.param_groups[0]["lr"] = learning_rate(config, update, len(batches))
        loss = batch_loss(model, batch, smoothing=0.0, scale=1 / len(pairs)).smoothed
        loss.backward()
        clipped_step(optimizer, 25.0, loss)
        optimizer.zero_grad()
        yield loss.item()


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["additive", "fixed"])
def test_losses_are_those_of_the_package(kind):
    """In float64, from the same weights, over ragged batches."""
    torch.manual_seed(1)
    model, batches = of_the_package(kind), ragged_batches()
    ours = minimal.Translator(WORDS, WORDS, kind == "additive", WIDTH).double()
    ours.load_state_dict(weights(model))
    expected = [*losses_of_the_package(model, batches)]
    found = [*minimal.train(ours, batches, CPU, warmup=10)]
    assert found == pytest.approx(expected, abs=1e-6)


@pytest.mark.edition
@pytest.mark.slow
def test_its_curve_is_that_of_the_quickstart(tmp_path, monkeypatch, capsys):
    """At every length within the intervals of the quickstart, where search has a beam of 5."""
    folder = tmp_path / "data" / "corpora" / "grammar-1"
    folder.mkdir(parents=True)
    write_corpus(GrammarCorpus(), folder)
    monkeypatch.setattr("minimal.__file__", str(tmp_path / "minimal.py"))
    monkeypatch.setattr("sys.argv", ["minimal.py", "--pairs", "120000"])
    minimal.main()
    printed = [line.split() for line in capsys.readouterr().out.splitlines()[1:]]
    found = [tuple(map(float, words[-2:])) for words in printed]
    page = (ROOT / "docs/results/quickstart-test-beam5/table.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (?:[0-9]+-[0-9]+|61\+|all) .*\[.*\].*\[.*\].*\[.*", page, re.MULTILINE)
    assert len(found) == len(rows) == 8
    for scores, row in zip(found, rows, strict=True):
        intervals = re.findall(r"\[([0-9.]+), ([0-9.]+)\]", row)[:2]
        for score, (low, high) in zip(scores, intervals, strict=True):
            assert float(low) - 1 <= score <= float(high) + 1
