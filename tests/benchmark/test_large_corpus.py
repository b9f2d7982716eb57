"""A corpus grows to the size asked for, and its memory does not grow with it."""

import json
from collections import Counter
from dataclasses import replace
from functools import partial
from itertools import cycle, islice
from pathlib import Path

import numpy as np
import pytest
from launch import compose_config
from reversal import write_reversal_corpus
from synthetic_benchmark import ENVIRONMENT

from seq2seq.benchmark import large_corpus
from seq2seq.benchmark.large_corpus import benchmark_large_corpus, repeat_text
from seq2seq.benchmark.large_corpus_report import CorpusRun, LargeCorpus
from seq2seq.benchmark.process_tree import PROC, TreeMemory, Watched, run_watched
from seq2seq.config import BenchmarkConfig, FilesCorpus, TokenizationConfig
from seq2seq.data.corpora import load_corpus
from seq2seq.data.text import read_lines
from seq2seq.errors import UserError

WORDS = TokenizationConfig(kind="whitespace", workers=1)


@pytest.fixture
def config(tmp_path) -> BenchmarkConfig:
    """A corpus of seven pairs, to be made five and twenty."""
    write_reversal_corpus(tmp_path / "corpus", train=7)
    return BenchmarkConfig(
        pairs=[5, 20],
        corpus=FilesCorpus(source="en", target="de", directory=str(tmp_path / "corpus")),
        tokenization=WORDS,
        batch_sizes=[1, 3],
        data=str(tmp_path / "data"),
        output=str(tmp_path / "output"),
    )


@pytest.mark.parametrize("pairs", [3, 7, 20])
def test_the_text_comes_over_and_over(config, tmp_path, pairs):
    text = load_corpus(config.corpus, tmp_path)
    words = repeat_text(text, pairs, tmp_path / "more")
    for side, counted in zip(("source", "target"), words, strict=True):
        once = list(read_lines(getattr(text.train, side)))
        lines = list(read_lines(tmp_path / "more" / f"train.{side}"))
        assert lines == list(islice(cycle(once), pairs))
        assert counted == sum(len(line.split()) for line in lines)
    again = FilesCorpus(source="en", target="de", directory=str(tmp_path / "more"))
    assert load_corpus(again, tmp_path).kind == "files"


def test_each_size_is_prepared_and_gone_through_and_leaves_only_figures(config, monkeypatch):
    def here(work):  # fresh processes have tests of their own, and take seconds each
        return Watched(work(), 0.5, None)

    monkeypatch.setattr(large_corpus, "run_watched", here)
    padded: Counter[int] = Counter()
    real = large_corpus.collate
    monkeypatch.setattr(
        large_corpus,
        "collate",
        lambda pairs, indices: (padded.update(indices.tolist()), real(pairs, indices)),
    )
    measured = benchmark_large_corpus(config)
    assert [(run.pairs, run.kept) for run in measured.runs] == [(5, 5), (20, 20)]
    assert padded == Counter(range(5)) + Counter(range(20))
    for (
        run
    ) in measured.runs:  # each source ends with an EOS; words are letters, so pieces are words
        assert run.pieces == (run.words[0] + run.pairs, run.words[1])
    assert measured.batch_size == 3
    output = Path(config.output)
    assert sorted(path.name for path in output.iterdir()) == [
        "large-corpus.json",
        "large-corpus.md",
    ]
    assert (output / "large-corpus.md").read_text() == measured.markdown
    kept = json.loads((output / "large-corpus.json").read_text())
    assert [run["pairs"] for run in kept["runs"]] == [5, 20]
    assert kept["growth_per_pair"] is None
    assert measured.markdown.count("–") == 3 * 4


def run(pairs: int, own: tuple[float, float], seconds: float) -> CorpusRun:
    return CorpusRun(
        pairs=pairs,
        words=(20 * pairs, 29 * pairs),
        kept=pairs // 2,
        pieces=(30 * pairs, 40 * pairs),
        text_bytes=200 * pairs,
        encoded_bytes=100 * pairs,
        prepare_seconds=seconds,
        prepare_peak=TreeMemory(1_000.0, own[0], 4),
        plan_seconds=0.5,
        epoch_seconds=60.0,
        epoch_peak=TreeMemory(900.0, own[1], 1),
    )


def test_the_table_says_what_was_measured_and_what_it_comes_to():
    runs = [run(1_000_000, (700.0, 300.0), 100.0), run(2_000_000, (700.0, 320.0), 160.0)]
    measured = LargeCorpus("files en-de", WORDS, 64, runs, 1.5, ENVIRONMENT)
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in measured.markdown.split("\n")
        if line.startswith("|")
    ]
    assert rows[4] == (
        ["2,000,000", "98,000,000", "400", "200", "prepare", "2.67", "12,500", "1,000", "700", "4"]
    )
    assert rows[5][4:] == ["one epoch", "1.00", "16,667", "900", "320", "1"]
    # 12 million pairs of 29 words: six times the text, ten million pairs more at 0 and 20 bytes.
    assert rows[8][1:] == ["12,000,000", "348,000,000", "2.4", "1.2", "0.3", "700", "520"]
    assert "1.5" in measured.markdown
    assert "secret" not in measured.markdown


def test_one_size_shows_no_growth():
    measured = LargeCorpus("files", WORDS, 64, [run(9, (1.0, 1.0), 1.0)], None, ENVIRONMENT)
    assert measured.growth() is None
    assert "on paper" not in measured.markdown


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"pairs": [0]}, "pairs=0 is out of range"),
        ({"search_sizes": ["m"]}, "search_sizes and pairs are benchmarks of their own"),
    ],
)
def test_settings_that_do_not_go_together_are_refused(config, given, message):
    with pytest.raises(UserError, match=message):
        replace(config, **given)


def test_a_share_of_the_corpus_is_refused(config):
    config.corpus.train_pairs = 3
    with pytest.raises(UserError, match=r"leave out corpus\.train_pairs"):
        benchmark_large_corpus(config)


def test_the_script_takes_sizes_and_a_tokenisation():
    config = compose_config("benchmark", ["pairs=[5,7]", "tokenization=moses"])
    assert config.pairs == [5, 7]
    assert config.tokenization.kind == "moses"
    assert compose_config("benchmark", []).tokenization.kind == "sentencepiece"


@pytest.mark.slow
@pytest.mark.skipif(not PROC.is_dir(), reason="reads /proc, which this system has not")
def test_the_peak_of_prepare_does_not_grow_with_the_corpus(config, tmp_path):
    text = load_corpus(config.corpus, tmp_path)
    own = []
    for pairs in (50_000, 400_000):
        folder = tmp_path / str(pairs)
        repeat_text(text, pairs, folder / "text")
        corpus = FilesCorpus(source="en", target="de", directory=str(folder / "text"))
        watched = run_watched(partial(large_corpus._prepare, corpus, WORDS, folder / "data"))
        assert watched.result.pieces[0] > 2 * pairs
        own.append(watched.peak.own)
    # A line number, two lengths and two offsets of each pair more would be 14 MB.
    assert own[1] - own[0] < 7


@pytest.mark.slow
@pytest.mark.skipif(not PROC.is_dir(), reason="reads /proc, which this system has not")
def test_an_epoch_keeps_few_bytes_of_each_pair(tmp_path):
    own = []
    for pairs in (100_000, 2_100_000):
        offsets = np.arange(pairs + 1)
        for part in ("source", "target"):
            np.save(tmp_path / f"train.{part}.npy", np.ones(pairs, np.uint16))
            np.save(tmp_path / f"train.{part}.offsets.npy", offsets)
        np.save(tmp_path / "train.lines.npy", offsets[1:])
        watched = run_watched(partial(large_corpus._go_through, tmp_path, 64, 1))
        assert watched.result.pairs == pairs
        own.append(watched.peak.own)
    # A length of 4 bytes for each side, an index of 4 while it is dealt and of 4 in its batch, and
    # what a batch takes for itself.
    assert (own[1] - own[0]) / 2 < 20
