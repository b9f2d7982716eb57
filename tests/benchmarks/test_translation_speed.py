"""A checkpoint is timed by every search on its share of the test set of its corpus."""

import json
from dataclasses import replace

import pytest
import timed_translation
import translation
from harness import compose_config
from helpers.reversal import reversal_experiment, write_reversal_corpus
from helpers.small_checkpoint import experiment, save
from translation import benchmark_translation

from seq2seq.data.text import read_lines
from seq2seq.errors import UserError


@pytest.fixture
def given(tmp_path) -> list[str]:
    """Settings for a checkpoint that has learnt nothing, and its test set of 100 sentences."""
    write_reversal_corpus(tmp_path / "corpus", train=5)
    corpus = reversal_experiment(tmp_path).corpus
    save(tmp_path / "model", config=replace(experiment(), corpus=corpus))
    folders = [f"checkpoint={tmp_path / 'model'}", f"data={tmp_path}", f"output={tmp_path}"]
    return [*folders, "batch_sizes=[1,10]", "most_batches=2", "rounds=2", "device=cpu"]


def test_each_search_translates_its_share_in_its_turn(given, monkeypatch):
    asked, measured = [], []
    real = translation.Translator.translate

    def recorded(translator, sentences, decoding):
        asked.append((decoding.beam, decoding.batch_size, len(sentences)))
        return real(translator, sentences, decoding)

    def peak(work, device):
        work()
        measured.append(asked.pop())
        return 2.0

    monkeypatch.setattr(translation.Translator, "translate", recorded)
    monkeypatch.setattr(translation, "peak_memory", peak)
    table = benchmark_translation(compose_config("translation", given))
    shares = [(beam, batch, 2 * batch) for beam in (1, 5) for batch in (1, 10)]
    assert asked == 3 * shares  # a warm-up, two rounds
    assert measured == [(beam, batch, batch) for beam, batch, _ in shares]
    runs = json.loads(table.with_suffix(".json").read_text())["runs"]
    assert [(run["beam"], run["batch_size"], run["sentences"]) for run in runs] == shares
    rows = [line for line in table.read_text().splitlines() if line.startswith("|")][2:]
    for row, run in zip(rows, runs, strict=True):
        speeds = sorted(run["sentences"] / second for second in run["seconds"])
        assert f" {sum(speeds) / 2:,.1f} " in row


@pytest.mark.parametrize("wrong", ["test_set=tset", "checkpoint=nowhere", "precision=fp23"])
def test_what_is_not_there_is_refused(given, wrong):
    with pytest.raises(UserError, match=wrong.split("=")[1]):
        benchmark_translation(compose_config("translation", [*given, wrong]))


def test_our_part_in_a_comparison_translates_line_by_line(given, tmp_path, capsys):
    paths = [str(tmp_path / name) for name in ("model", "corpus/test.source", "out")]
    timed_translation.main(*paths, "fp32", "2", "10", "3")
    written = list(read_lines(tmp_path / "out"))
    assert len(written) == 100
    assert max(len(line.split()) for line in written) <= 3
    assert capsys.readouterr().out.startswith("translated 100 lines in ")
