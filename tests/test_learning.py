"""That training by the trainer learns: reversal, of long sentences with attention alone."""

import pytest
from helpers.reversal import reversal_experiment, without_dropout, write_reversal_corpus
from helpers.small_training import train

from seq2seq.config import DecodingConfig
from seq2seq.data.text import read_lines
from seq2seq.decoding.translator import Translator

LONGEST = 12


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("learning")
    write_reversal_corpus(folder / "corpus", train=4_000, longest=LONGEST)
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["additive", "fixed"])
def test_both_learn_short_sentences_and_attention_alone_learns_long_ones(folder, kind):
    """The information bottleneck, in small."""
    settings = {"batch_size": 50, "max_epochs": 6, "dev_bleu_sentences": 0, "log_every": 100}
    run = train(without_dropout(reversal_experiment(folder, kind, 0.01, **settings)))
    translator = Translator(run.path, "cpu", "fp32")
    sources, references = (
        [*read_lines(folder / "corpus" / f"test.{side}")] for side in ("source", "target")
    )
    found = translator.translate(sources, DecodingConfig(beam=1))
    right = {"short": [], "long": []}
    for source, reference, hypothesis in zip(sources, references, found, strict=True):
        bucket = "short" if len(source.split()) <= LONGEST / 3 else "long"
        right[bucket].append(hypothesis.text == reference)
    short, long = (sum(exact) / len(exact) for exact in right.values())
    if kind == "additive":
        assert short >= 0.95
        assert long >= 0.9
    else:
        assert short >= 0.7
        assert long <= 0.5 * short
