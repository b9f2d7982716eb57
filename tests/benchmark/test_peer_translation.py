"""Translating beside other toolkits, none installed: models kept, times read, tables."""

import json
import sys
from pathlib import Path

import pytest
from peer_corpus import write_corpus
from reversal import reversal_experiment
from sacrebleu.metrics import BLEU

from seq2seq.benchmark.peers import (
    PEERS,
    PRECISIONS,
    PeerSearch,
    PeerSetting,
    compare_translations,
    translation_comparison,
    translation_markdown,
)
from seq2seq.benchmark.peers.ours import Ours
from seq2seq.benchmark.peers.text import PeerText, write_text
from seq2seq.benchmark.peers.timed_translation import translate_timed
from seq2seq.benchmark.peers.translation import Program, train_once, translate_once
from seq2seq.checkpoint import save_checkpoint
from seq2seq.config import DecodingConfig
from seq2seq.data.codec import TextCodec
from seq2seq.data.text import read_lines
from seq2seq.data.tokenization import WhitespaceTokenizer
from seq2seq.data.vocabulary import Vocabulary
from seq2seq.errors import UserError
from seq2seq.model.translation import TranslationModel

SETTING = PeerSetting(batch_size=2, warm_up=1, updates=2, threads=1)
TOLD = {
    "opennmt": ["[2024-05-01 10:00:00,123 INFO] Total translation time (s): 3.5\n"],
    "eole": [
        "[2024-05-01 10:00:00,123 INFO] Step 0 time (s): 0.25\n",
        "[2024-05-01 10:00:00,123 INFO] Subsequent prediction time including all (s): 3.25\n",
        "[2024-05-01 10:00:00,123 INFO] Average prediction time (ms): 4.5\n",
        "[2024-05-01 10:00:00,123 INFO] Decode time (first to last token, s): 3.000000\n",
    ],
    "joeynmt": [
        "2024-05-01 10:00:00,123 - INFO - joeynmt.prediction - Generation took 3.5000[sec].\n"
    ],
    "seq2seq": ["translated 1000 lines in 3.5000 s\n"],
}
PROGRAMS = {**PEERS, Ours.name: Ours()}


@pytest.fixture
def text(tmp_path) -> PeerText:
    return write_text(write_corpus(tmp_path / "corpus"), tmp_path / "text", min_frequency=1)


class Pretender(Ours):
    """Trains by counting its trainings, and translates by writing the reference, or part of it."""

    kept = 1.0
    says = "translated 9 lines in 2.5000 s"

    def command(self, text, setting, precision, folder):
        return ["-c", "open('trainings', 'a').write('x'); print('trained')"]

    def translate_command(self, text, setting, search, model, folder):
        reference = text.path("test", text.target)
        code = (
            f"lines = open({str(reference)!r}).readlines()\n"
            f"lines = lines[:int({self.kept} * len(lines))]\n"
            f"open({self.hypotheses!r}, 'w').writelines(lines)\n"
            f"print({self.says!r})\n"
        )
        return ["-c", code]


def program(**versions: str) -> Program:
    return Program(Pretender(), Path(sys.executable), versions)


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_time_of_a_search_is_found_in_the_log(name):
    assert sum(map(PROGRAMS[name].read_search_time, TOLD[name])) == 3.5
    others = [line for other, lines in TOLD.items() if other != name for line in lines]
    assert sum(map(PROGRAMS[name].read_search_time, others)) == 0


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_is_told_the_whole_search(name, precision, text, tmp_path):
    model, folder = tmp_path / "model", tmp_path / "run"
    folder.mkdir()
    search = PeerSearch(beam=7, precision=precision, batch_size=13, max_length=41)
    toolkit = PROGRAMS[name]
    arguments = toolkit.translate_command(text, SETTING, search, model, folder)
    told = " ".join(arguments)
    for argument in arguments:
        if argument.endswith("config.yaml"):
            told += " " + json.dumps(json.loads(Path(argument).read_text(encoding="utf-8")))
    for value in ("7", "13", "41", str(model), str(text.folder / "test"), str(folder / "output")):
        assert value in told
    if arguments[0] == "-c":
        compile(arguments[1], name, "exec")
    other = "bf16" if precision == "fp32" else "fp32"
    search = PeerSearch(beam=7, precision=other, batch_size=13, max_length=41)
    assert toolkit.translate_command(text, SETTING, search, model, folder) != arguments


def test_a_model_is_trained_once_for_each_setting(text, tmp_path):
    folder = train_once(program(torch="1"), text, SETTING, "fp32", tmp_path / "models")
    assert (folder / "trainings").read_text() == "x"
    assert train_once(program(torch="1"), text, SETTING, "fp32", tmp_path / "models") == folder
    assert (folder / "trainings").read_text() == "x"
    (folder / "left-behind").touch()
    train_once(program(torch="2"), text, SETTING, "fp32", tmp_path / "models")
    assert (folder / "trainings").read_text() == "x"
    assert not (folder / "left-behind").exists()
    (folder / "trained.json").write_text("{")  # cut off
    (folder / "left-behind").touch()
    train_once(program(torch="2"), text, SETTING, "fp32", tmp_path / "models")
    assert not (folder / "left-behind").exists()


def test_a_translation_is_timed_by_its_program_and_scored(text, tmp_path, monkeypatch):
    search = PeerSearch(beam=5, precision="bf16")
    work = tmp_path / "work"
    found = translate_once(program(), text, SETTING, search, tmp_path, 3, work)
    assert (found.toolkit, found.precision, found.beam, found.round) == ("seq2seq", "bf16", 5, 3)
    assert found.speed == 9 / 2.5
    assert found.bleu == pytest.approx(100)
    references = list(read_lines(text.path("test", "en")))
    assert found.words == sum(len(line.split()) for line in references) / 9
    assert "translated 9" in (work / "seq2seq-bf16-beam5-3.log").read_text()
    monkeypatch.setattr(Pretender, "kept", 0.5)
    with pytest.raises(UserError, match=r"translated 4 of 9 sentences"):
        translate_once(program(), text, SETTING, search, tmp_path, 3, work)
    monkeypatch.setattr(Pretender, "says", "done")
    with pytest.raises(UserError, match=r"did not tell the time of its search"):
        translate_once(program(), text, SETTING, search, tmp_path, 3, work)


def test_our_part_translates_line_by_line(text, tmp_path):
    """A model that has learnt nothing, by the words of the text."""
    experiment = reversal_experiment(tmp_path)
    source, target = (
        TextCodec(
            WhitespaceTokenizer(language),
            Vocabulary(words := list(read_lines(text.path("words", language))), [1] * len(words)),
        )
        for language in ("de", "en")
    )
    model = TranslationModel(experiment.model, len(source.vocabulary), len(target.vocabulary))
    save_checkpoint(tmp_path / "model", model, experiment, source, target, None, {"update": 1})
    output, config = tmp_path / "output", DecodingConfig(beam=2, max_length=3)
    lines, seconds = translate_timed(
        tmp_path / "model", text.path("test", "de"), output, config, "fp32"
    )
    written = list(read_lines(output))
    assert lines == len(written) == 9
    assert max(len(line.split()) for line in written) <= 3
    assert seconds > 0


def test_all_take_turns_and_the_table_says_who_is_faster(tmp_path, monkeypatch):
    class Slower(Pretender):
        """As fast as this project once bfloat16 is forced upon it."""

        name = "slower"
        bf16_is_forced = True

        def translate_command(self, text, setting, search, model, folder):
            seconds = {"fp32": "5.0000", "bf16": "2.5000"}[search.precision]
            self.says = f"translated 9 lines in {seconds} s"
            return super().translate_command(text, setting, search, model, folder)

    programs = [program(torch="1"), Program(Slower(), Path(sys.executable), {"slower": "2"})]
    monkeypatch.setattr(
        translation_comparison, "find_programs", lambda *_: (programs, ["eole is left out."])
    )
    searches = [PeerSearch(beam=beam, precision=p) for p in PRECISIONS for beam in (1, 5)]
    corpus = write_corpus(tmp_path / "corpus")
    compared = compare_translations(
        ["x"], corpus, tmp_path / "work", Path("python"), SETTING, searches, rounds=2
    )
    order = [(run.round, run.precision, run.beam, run.toolkit) for run in compared.runs]
    assert order == [
        (number, search.precision, search.beam, name)
        for number in (1, 2)
        for search in searches
        for name in ("seq2seq", "slower")
    ]
    assert compared.ratios("slower", "bf16", 5) == [1.0, 1.0]
    assert compared.best_ratio("slower", 1, ["fp32"]) == 2.0
    assert compared.best_ratio("slower", 1, ["fp32", "bf16"]) == 1.0
    markdown = translation_markdown(compared)
    rows = [
        [cell.strip() for cell in line.strip("|").split(" | ")]
        for line in markdown.split("\n")
        if line.startswith("|")
    ]
    assert rows[2][:5] == ["seq2seq", "greedy", "fp32", "3.6", "1"]
    assert rows[3][:6] == ["slower", "greedy", "fp32", "1.8", "2.00 (2.00-2.00)", "100.0"]
    assert [row[1:3] for row in rows[2::2]] == [
        ["greedy", "fp32"], ["beam 5", "fp32"], ["greedy", "bf16"], ["beam 5", "bf16"]
    ]  # fmt: skip
    for fact in ("3 updates in bf16", "eole is left out.", "9 test sentences"):
        assert fact in markdown
    assert "Beam 5, each program by the fastest of its own settings: seq2seq has 2.00 t" in markdown
    assert "none: seq2seq has 1.00 times slower." in markdown


def test_bleu_is_that_of_the_tokens(text, tmp_path, monkeypatch):
    """Half of the words right: less than all, and what sacreBLEU says without a tokenizer."""
    monkeypatch.setattr(Pretender, "translate_command", _first_words)
    search = PeerSearch(beam=1, precision="fp32")
    found = translate_once(program(), text, SETTING, search, tmp_path, 1, tmp_path / "work")
    references = list(read_lines(text.path("test", "en")))
    cut = [" ".join(line.split()[:4]) for line in references]
    expected = BLEU(tokenize="none", force=True).corpus_score(cut, [references]).score
    assert found.bleu == pytest.approx(expected)
    assert 0 < expected < 100


def _first_words(toolkit, text, setting, search, model, folder):
    reference = text.path("test", text.target)
    code = (
        f"lines = [' '.join(line.split()[:4]) for line in open({str(reference)!r})]\n"
        f"open({toolkit.hypotheses!r}, 'w').write('\\n'.join(lines) + '\\n')\n"
        f"print({toolkit.says!r})\n"
    )
    return ["-c", code]
