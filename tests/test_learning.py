"""That models learn: reversal with attention, whose alignment is then the anti-diagonal."""

import dataclasses
from pathlib import Path

import pytest
import torch
from reversal import reversal_experiment, write_reversal_corpus

from seq2seq.checkpoint import load_checkpoint
from seq2seq.config import DecodingConfig
from seq2seq.data.batching import collate
from seq2seq.data.preparation import prepare
from seq2seq.data.text import read_lines
from seq2seq.decoding.translator import Translator
from seq2seq.training.trainer import Trainer

CPU = torch.device("cpu")
LONGEST = 16


def train(folder: Path, kind: str) -> tuple[Path, dict[str, float]]:
    """Train one arm; its run folder, and the share of exact test translations, short and long."""
    config = reversal_experiment(
        folder, kind, batch_size=50, max_epochs=12, dev_bleu_sentences=0, log_every=100
    )
    config = dataclasses.replace(config, model=dataclasses.replace(config.model, dropout=0.0))
    data = prepare(config.corpus, config.tokenization, Path(config.data))
    run = Trainer(config, data).run()
    translator = Translator.load(run.path, "cpu", "fp32")
    test = data.corpus.tests["test"]
    sources, references = list(read_lines(test.source)), list(read_lines(test.target))
    hypotheses = [h.text for h in translator.translate(sources, DecodingConfig(beam=1))]
    exact: dict[str, list[bool]] = {"short": [], "long": []}
    for source, reference, hypothesis in zip(sources, references, hypotheses, strict=True):
        bucket = "short" if len(source.split()) <= LONGEST / 3 else "long"
        exact[bucket].append(hypothesis == reference)
    return run.path, {bucket: sum(found) / len(found) for bucket, found in exact.items()}


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("learning")
    write_reversal_corpus(folder / "corpus", train=4_000, longest=LONGEST)
    return folder


@pytest.mark.slow
def test_attention_learns_to_reverse_and_looks_at_the_word_it_translates(folder):
    run, exact = train(folder, "additive")
    assert exact["short"] >= 0.95
    assert exact["long"] >= 0.9
    checkpoint = load_checkpoint(run, CPU)
    config = checkpoint.config
    data = prepare(config.corpus, config.tokenization, Path(config.data))
    batch = collate(data.valid, list(range(len(data.valid))))
    model = checkpoint.model.eval()
    with torch.inference_mode():
        source = model.encode(batch.source, batch.source_lengths)
        embedded = model.target_embedding(batch.target_input)
        _, weights = model.decoder(embedded, source)
    hits = []
    for row, length in enumerate((batch.source_lengths - 1).tolist()):  # without EOS
        expected = torch.arange(length - 1, -1, -1)
        hits.append(weights[row, :length].argmax(dim=1) == expected)
    assert torch.cat(hits).float().mean() > 0.8


@pytest.mark.slow
def test_one_fixed_vector_learns_short_sentences_and_loses_long_ones(folder):
    """The information bottleneck, in small."""
    _, exact = train(folder, "fixed")
    assert exact["short"] >= 0.7
    assert exact["long"] <= 0.5 * exact["short"]
