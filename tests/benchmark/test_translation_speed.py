"""A checkpoint is timed by every search on its share of the test set; ratios follow from turns."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from reversal import LETTERS, reversal_experiment, write_reversal_corpus
from synthetic_benchmark import ENVIRONMENT

from seq2seq.benchmark import translation
from seq2seq.benchmark.translation import benchmark_translation, every_nth
from seq2seq.benchmark.translation_report import SearchTimes, TranslationBenchmark
from seq2seq.checkpoint import save_checkpoint
from seq2seq.config import BenchmarkConfig
from seq2seq.data.codec import TextCodec
from seq2seq.data.tokenization import WhitespaceTokenizer
from seq2seq.data.vocabulary import Vocabulary
from seq2seq.errors import UserError
from seq2seq.model.translation import TranslationModel


@pytest.fixture
def config(tmp_path) -> BenchmarkConfig:
    """A checkpoint that has learnt nothing, and a test set of 100 sentences for it."""
    write_reversal_corpus(tmp_path / "corpus", train=5)
    experiment = reversal_experiment(tmp_path)
    codecs = [
        TextCodec(WhitespaceTokenizer(language), Vocabulary(list(words), [1] * len(words)))
        for language, words in (("en", LETTERS), ("de", LETTERS.upper()))
    ]
    source, target = codecs
    torch.manual_seed(0)
    model = TranslationModel(experiment.model, len(source.vocabulary), len(target.vocabulary))
    save_checkpoint(tmp_path / "model", model, experiment, source, target, None, {"update": 1})
    return BenchmarkConfig(
        checkpoint=str(tmp_path / "model"),
        corpus=experiment.corpus,
        alternations=2,
        device="cpu",
        threads=1,
        batch_sizes=[1, 10],
        most_batches=1,
        data=str(tmp_path / "data"),
        output=str(tmp_path / "output"),
    )


def test_each_search_translates_its_share_in_its_turn(config, monkeypatch):
    asked = []
    real = translation.Translator.translate

    def translate(translator, sentences, decoding):
        asked.append((decoding.beam, decoding.batch_size, len(sentences)))
        return real(translator, sentences, decoding)

    monkeypatch.setattr(translation.Translator, "translate", translate)
    measured = benchmark_translation(config)
    shares = {1: 1, 10: 10}  # the first of 100 sentences, and every tenth
    searches = [(run.beam, run.batch_size, run.sentences) for run in measured.searches]
    assert searches[:4] == [(beam, batch, shares[batch]) for batch in (1, 10) for beam in (1, 5)]
    assert all(batch == 10 for _, batch, _ in searches[4:])
    warm_up = [(beam, batch, min(8, share)) for beam, batch, share in searches]
    assert asked == warm_up + 2 * searches
    assert all(len(run.seconds) == 2 for run in measured.searches)
    folder = Path(config.output)
    assert (folder / "translation.md").read_text() == measured.markdown
    kept = json.loads((folder / "translation.json").read_text())
    assert [run["seconds"] for run in kept["runs"]] == [run.seconds for run in measured.searches]


def test_ways_are_those_that_differ_on_this_machine(config, monkeypatch):
    config = replace(config, beams=[1], batch_sizes=[10], alternations=1)
    monkeypatch.setattr(translation, "choose_kernels", lambda *_: translation.torch_only)
    monkeypatch.setattr(translation.torch_only, "name", "torch", raising=False)
    monkeypatch.setattr("seq2seq.device._has_fast_bfloat16", lambda _: False)
    assert {run.way for run in benchmark_translation(config).searches} == {"default"}
    monkeypatch.setattr(translation.torch_only, "name", "native")
    monkeypatch.setattr("seq2seq.device._has_fast_bfloat16", lambda _: True)
    measured = benchmark_translation(config)
    assert {(run.way, run.precision) for run in measured.searches} == {
        ("default", "bf16"),
        ("fp32", "fp32"),
        ("torch", "bf16"),
    }


def test_a_share_is_taken_at_equal_distances():
    sentences = [str(number) for number in range(10)]
    assert every_nth(sentences, 10) == every_nth(sentences, 99) == sentences
    assert every_nth(sentences, 9) == ["0", "2", "4", "6", "8"]
    assert every_nth(sentences, 3) == ["0", "4", "8"]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"test_set": "tset"}, "test_set=tset is none of corpus files, which has only: test"),
        ({"checkpoint": "nowhere"}, "There is no checkpoint at nowhere"),
        (
            {"checkpoint": None, "batch_sizes": [1, 64], "most_batches": 100},
            "checkpoint is not set",
        ),
    ],
)
def test_what_is_not_there_is_refused(config, given, message):
    with pytest.raises(UserError, match=message):
        benchmark_translation(replace(config, **given))


def test_a_corpus_of_other_languages_is_refused(config):
    other = replace(config.corpus, target="fr")
    with pytest.raises(UserError, match="translates en-de, the corpus is en-fr"):
        benchmark_translation(replace(config, corpus=other))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"peers": ["eole"]}, "checkpoint and peers are benchmarks of their own"),
        ({"search_sizes": ["m"]}, "checkpoint and search_sizes are benchmarks of their own"),
        ({"peers_translate": True}, "peers_translate=true names no peers"),
        ({"peer_training": 50}, "peer_training=50 must be a multiple of 20"),
        ({"peer_training": 20}, "peer_training=20 must be a multiple of 20, and at least 40"),
        ({"beams": [1, 0]}, "beams=0 is out of range"),
        ({"batch_sizes": []}, "batch_sizes=.* must name at least one value"),
        ({"most_batches": 0}, "most_batches=0 is out of range"),
    ],
)
def test_settings_that_do_not_go_together_are_refused(config, given, message):
    with pytest.raises(UserError, match=message):
        replace(config, **given)


def test_the_table_follows_from_the_timings():
    def times(way: str, beam: int, batch: int, seconds: list[float]) -> SearchTimes:
        return SearchTimes(way, "fp32", "torch", beam, batch, 10 if batch == 1 else 40, seconds)

    measured = TranslationBenchmark(
        "test, 40 sentences",
        "a model",
        [
            times("default", 1, 1, [1.0, 2.0, 1.0]),  # 10, 5, 10 sentences a second
            times("default", 5, 1, [2.0, 4.0, 2.5]),  # 5, 2.5, 4
            times("default", 1, 64, [0.5, 1.0, 1.0]),  # 80, 40, 40
            times("default", 5, 64, [1.0, 2.0, 1.0]),  # 40, 20, 40
            times("torch", 5, 64, [2.0, 8.0, 2.0]),  # 20, 5, 20
            times("torch", 1, 64, [2.0, 2.0, 2.0]),
        ],
        ENVIRONMENT,
    )
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in measured.markdown.split("\n")
        if line.startswith("|")
    ]
    ours, table = rows[0], rows[2:]
    assert ours[7:] == ["speed over batch 1", "greedy over it", "default over it"]
    assert table[0][5:] == ["10.0", "5.0-10.0", "", "", ""]
    assert table[1][7:] == ["", "2.00 [2.00, 2.50]", ""]
    assert table[2][7:] == ["8.00 [4.00, 8.00]", "", ""]
    assert table[3][7:] == ["8.00 [8.00, 10.00]", "2.00 [1.00, 2.00]", ""]
    assert table[4][7:] == ["", "1.00 [1.00, 4.00]", "2.00 [2.00, 4.00]"]
    assert "10 at batch 1, 40 at batch 64" in measured.markdown
    assert "3 rounds" in measured.markdown
    assert "secret" not in measured.markdown
