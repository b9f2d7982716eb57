"""That training by the trainer learns: reversal, of long sentences with attention alone."""

from pathlib import Path

import pytest
from helpers.reversal import reversal_experiment, without_dropout, write_reversal_corpus
from helpers.small_training import train

from seq2seq.config import DecodingConfig
from seq2seq.data.text import read_lines
from seq2seq.decoding.translator import Translator

LONGEST = 12


def share_exact(folder: Path, kind: str) -> dict[str, float]:
    """Train one arm; the share of exact test translations, short and long."""
    settings = {"batch_size": 50, "max_epochs": 6, "dev_bleu_sentences": 0, "log_every": 100}
    run = train(without_dropout(reversal_experiment(folder, kind, 0.01, **settings)))
    translator = Translator(run.path, "cpu", "fp32")
    test = folder / "corpus" / "test"
    sources, references = (list(read_lines(test.with_suffix(s))) for s in (".source", ".target"))
    hypotheses = [h.text for h in translator.translate(sources, DecodingConfig(beam=1))]
    exact: dict[str, list[bool]] = {"short": [], "long": []}
    for source, reference, hypothesis in zip(sources, references, hypotheses, strict=True):
        bucket = "short" if len(source.split()) <= LONGEST / 3 else "long"
        exact[bucket].append(hypothesis == reference)
    return {bucket: sum(found) / len(found) for bucket, found in exact.items()}


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("learning")
    write_reversal_corpus(folder / "corpus", train=4_000, longest=LONGEST)
    return folder


@pytest.mark.slow
def test_attention_learns_to_reverse(folder):
    exact = share_exact(folder, "additive")
    assert exact["short"] >= 0.95
    assert exact["long"] >= 0.9


@pytest.mark.slow
def test_one_fixed_vector_learns_short_sentences_and_loses_long_ones(folder):
    """The information bottleneck, in small."""
    exact = share_exact(folder, "fixed")
    assert exact["short"] >= 0.7
    assert exact["long"] <= 0.5 * exact["short"]
