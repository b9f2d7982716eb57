"""No toolkit needs to be installed: their log lines are made up here in the form they have."""

import json
import sys
from collections import Counter
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

import pytest
import torch
from cli import compose_config
from peer_corpus import write_corpus
from reversal import reversal_experiment, write_reversal_corpus
from small_training import train

from seq2seq.benchmark.peers import (
    PEERS,
    PRECISIONS,
    PeerComparison,
    PeerSetting,
    compare_with_peers,
    comparison,
    comparison_markdown,
    joeynmt,
    opennmt,
)
from seq2seq.benchmark.peers.ours import Ours
from seq2seq.benchmark.peers.process import Probe, Speed, TimedRun, probe, run, steady_speed
from seq2seq.benchmark.peers.text import PeerText, write_text
from seq2seq.benchmark.peers.toolkit import Toolkit
from seq2seq.data.parallel_text import Corpus
from seq2seq.errors import UserError

REPORTS = {
    "opennmt": "[2024-05-01 10:00:00,123 INFO] Step 40/  220; acc: 11.1; ppl: 590.2; xent: 6.4; "
    "lr: 0.00100; sents:    1280; bsz:  838/ 901/64; 1503/1999 tok/s;     21 sec;",
    "eole": "[2024-05-01 10:00:00,123 INFO] Step 40/  220; acc: 11.1; ppl: 590.25; xent: 6.37; "
    "aux: 0.000; mtp: 0.000; attn_ent: 2.4; lr: 1.00e-03; sents:    1280; bsz:  838/ 901/64; "
    "503/1999 tok/s;     21 sec;",
    "joeynmt": "2024-05-01 10:00:00,123 - INFO - joeynmt.training - Epoch   1, Step:       40, "
    "Batch Loss:     4.851134, Batch Acc: 0.102553, Tokens per Sec:     1999, Lr: 0.001000",
    "seq2seq": "update 40 of at most 220: loss 6.3715, 1,999 target tokens/s",
}
SIZES = {
    "opennmt": "[2024-05-01 10:00:00,123 INFO] * number of parameters: 11302184",
    "eole": "[2024-05-01 10:00:00,123 INFO] * number of parameters: 11302184",
    "joeynmt": "2024-05-01 10:00:00,123 - INFO - joeynmt.model - Total params: 11302184",
    "seq2seq": "attention: 11,302,184 parameters (encoder 3,065,856, decoder 8,236,328)",
}
PROGRAMS: dict[str, Toolkit] = {**PEERS, "seq2seq": Ours()}


@pytest.fixture
def corpus(tmp_path) -> Corpus:
    return write_corpus(tmp_path / "corpus")


@pytest.fixture
def text(corpus, tmp_path) -> PeerText:
    return write_text(corpus, tmp_path / "text", min_frequency=4)


def leaves(config: object) -> list[object]:
    """All values of a config, however deep."""
    if isinstance(config, dict):
        return [leaf for value in config.values() for leaf in leaves(value)]
    if isinstance(config, list):
        return [leaf for value in config for leaf in leaves(value)]
    return [config]


# -- what all are told -----------------------------------------------------------------------------


def test_text_is_lower_cased_words_without_pairs_that_lack_a_side(text):
    read = {
        language: text.path("train", language).read_text(encoding="utf-8").split("\n")[:-1]
        for language in ("de", "en")
    }
    assert read["de"][:3] == ["ein hund läuft .", "ein mann , ein hund", "zwei männer laufen ."]
    assert read["en"][:3] == ["a dog runs .", "a man , a dog", "two men run ."]
    assert text.pairs == len(read["de"]) == len(read["en"]) == 9
    assert text.target_tokens == sum(len(line.split()) + 1 for line in read["en"])
    for language, size in zip(("de", "en"), text.words, strict=True):
        counts = Counter(" ".join(read[language]).split())
        words = text.path("words", language).read_text(encoding="utf-8").split()
        assert set(words) == {word for word, count in counts.items() if count >= 4}
        assert size == len(words) == len(set(words))
        assert [counts[word] for word in words] == sorted(map(counts.get, words), reverse=True)


def test_a_run_of_more_than_one_pass_is_refused(text):
    text.require_epoch(updates=4, batch_size=2)
    with pytest.raises(UserError, match=r"A run is 5 updates, .* one pass over .* is 4 updates"):
        text.require_epoch(updates=5, batch_size=2)


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("name", PEERS)
def test_config_of_a_peer_states_every_setting_and_no_file_that_lacks(
    name, precision, text, tmp_path
):
    setting = PeerSetting(
        embedding=6, hidden=14, dropout=0.37, label_smoothing=0.23, batch_size=3,
        learning_rate=0.0123, clip_norm=4.5, warm_up=11, updates=88, seed=77,
    )  # fmt: skip
    folder = tmp_path / "run"
    folder.mkdir()
    arguments = PEERS[name].command(text, setting, precision, folder)
    (path,) = [argument for argument in arguments if argument.endswith("config.yaml")]
    config = json.loads(Path(path).read_text(encoding="utf-8"))
    told = leaves(config)
    for value in (6, 14, 0.37, 0.23, 3, 0.0123, 4.5, 11, 99, 77):
        assert value in told
    read = [Path(leaf) for leaf in told if str(leaf).startswith(str(text.folder))]
    assert read
    for file in read:
        assert file.is_file() or Path(f"{file}.de").is_file()  # JoeyNMT adds the languages
    assert {Path(leaf).is_relative_to(folder) for leaf in told if "run/" in str(leaf)} == {True}
    assert arguments[0] in ("-m", "-c")
    if arguments[0] == "-c":
        compile(arguments[1], name, "exec")
    other = "bf16" if precision == "fp32" else "fp32"
    differently = PEERS[name].command(text, setting, other, folder)
    changed = json.loads(Path(path).read_text(encoding="utf-8"))
    assert (differently, changed) != (arguments, config)


def test_ours_is_told_the_same(text, tmp_path):
    setting = PeerSetting(embedding=6, hidden=14, dropout=0.37, warm_up=11, updates=88, seed=77)
    for precision in PRECISIONS:
        script, *overrides = Ours().command(text, setting, precision, tmp_path / "run")
        assert Path(script).is_file()
        config = compose_config("train", overrides)
        model, training = config.model, config.training
        assert (model.embedding_dim, model.dropout, model.attention.kind) == (6, 0.37, "additive")
        assert (model.encoder.hidden, model.decoder.hidden, model.attention.size) == (7, 14, 14)
        assert (training.precision, training.max_updates, training.log_every) == (precision, 99, 11)
        assert (training.batch_size, training.batch_unit) == (64, "sentences")
        assert (config.seed, config.tokenization.kind) == (77, "whitespace")
        assert config.tokenization.min_frequency == setting.min_frequency
        assert config.tokenization.vocabulary_size is None
        assert config.corpus.directory == str(text.folder)


def test_opennmt_finds_bfloat16_where_it_asks_for_cuda_autocast(monkeypatch):
    seen = []

    def main() -> None:
        with torch.cuda.amp.autocast(enabled=False):
            seen.append((torch.ones(2, 2) @ torch.ones(2, 2)).dtype)
        seen.append((torch.ones(2, 2) @ torch.ones(2, 2)).dtype)

    monkeypatch.setattr(torch.cuda.amp, "autocast", torch.cuda.amp.autocast)  # put back later
    for module in ("onmt", "onmt.bin", "onmt.bin.train"):
        monkeypatch.setitem(sys.modules, module, ModuleType(module))
    sys.modules["onmt.bin.train"].main = main
    exec(opennmt.AUTOCAST_ON_CPU, {})
    assert seen == [torch.bfloat16, torch.float32]


def test_joeynmt_finds_bfloat16_in_its_parsed_config(monkeypatch):
    class Parsed(NamedTuple):
        seed: int
        autocast: dict

    seen = []
    training, prediction = ModuleType("joeynmt.training"), ModuleType("joeynmt.prediction")
    for module in (training, prediction):  # each has imported the function by name
        module.parse_global_args = lambda config, rank: Parsed(config["seed"] + rank, {})
    package = ModuleType("joeynmt")
    package.training, package.prediction = training, prediction
    program = ModuleType("joeynmt.__main__")
    program.main = lambda: seen.extend(
        module.parse_global_args({"seed": 4}, rank=1) for module in (training, prediction)
    )
    for module in (package, training, prediction, program):
        monkeypatch.setitem(sys.modules, module.__name__, module)
    exec(joeynmt.AUTOCAST_ON_CPU, {})
    assert [parsed.seed for parsed in seen] == [5, 5]
    for parsed in seen:
        with torch.autocast(**parsed.autocast):
            assert (torch.ones(2, 2) @ torch.ones(2, 2)).dtype == torch.bfloat16


# -- what they say ---------------------------------------------------------------------------------


@pytest.mark.parametrize("name", PROGRAMS)
def test_reports_and_sizes_are_found_in_the_log(name):
    toolkit = PROGRAMS[name]
    assert toolkit.read_report(REPORTS[name] + "\n") == 40
    assert toolkit.read_size(SIZES[name] + "\n") == 11_302_184
    assert toolkit.read_report(SIZES[name]) is None
    assert toolkit.read_size(REPORTS[name]) is None


def test_speed_is_sentences_over_time_after_the_warm_up(text):
    setting = PeerSetting(warm_up=10, updates=30, batch_size=4)
    reports = [(10, 107.0), (20, 108.5), (25, 108.75), (30, 112.0), (40, 112.5)]
    speed = steady_speed(reports, setting, text, "it")
    assert speed.seconds == pytest.approx(112.5 - 107.0)
    assert speed.tokens_per_second == pytest.approx(30 * 4 * text.target_tokens / 9 / 5.5)
    for lacking in (reports[1:], reports[:-1], []):
        with pytest.raises(UserError, match="did not report at updates 10 and 40"):
            steady_speed(lacking, setting, text, "it")


def test_the_trainers_own_log_is_read(tmp_path, caplog):
    """The lines above could be out of date for this project, whose log changes with its code."""
    write_reversal_corpus(tmp_path / "corpus")
    with caplog.at_level("INFO"):
        train(reversal_experiment(tmp_path, log_every=5, max_updates=10))
    updates = [Ours().read_report(line) for line in caplog.messages]
    assert [update for update in updates if update is not None] == [5, 10]
    assert [size for line in caplog.messages if (size := Ours().read_size(line))]


class Pretender(Ours):
    """Prints what its setting says, after as many seconds, then ends with a status."""

    package = "torch"
    module = "json"
    status = 0

    def command(self, text, setting, precision, folder):
        (folder / "left-behind").touch()
        lines = [SIZES["seq2seq"], *(
            f"update {update} of at most 9: loss 1, {100 * update:,} target tokens/s"
            for update in range(setting.warm_up, setting.total_updates + 1, setting.warm_up)
        )]  # fmt: skip
        code = (
            f"import os, time\nfor line in {lines!r}:\n    time.sleep(0.05)\n    print(line)\n"
            f"assert os.environ['OMP_NUM_THREADS'] == '{setting.threads}'\n"
            f"print('the last word')\nraise SystemExit({self.status})"
        )
        return ["-c", code]


def test_a_program_is_run_and_read(text, tmp_path):
    setting = PeerSetting(warm_up=1, updates=2, threads=1)
    timed = run(Pretender(), Path(sys.executable), text, setting, "fp32", 3, tmp_path / "work")
    assert (timed.toolkit, timed.precision, timed.round) == ("seq2seq", "fp32", 3)
    assert timed.parameters == 11_302_184
    assert timed.speed.seconds >= 0.09
    mean = text.target_tokens / text.pairs
    assert timed.speed.tokens_per_second == pytest.approx(2 * 64 * mean / timed.speed.seconds)
    assert [path.name for path in (tmp_path / "work").iterdir()] == ["seq2seq-fp32-3.log"]


def test_a_program_that_fails_is_named_with_its_last_word(text, tmp_path, monkeypatch):
    monkeypatch.setattr(Pretender, "status", 3)
    setting = PeerSetting(warm_up=1, updates=2)
    with pytest.raises(UserError, match=r"ended with status 3 \(the last word\); see .*\.log"):
        run(Pretender(), Path(sys.executable), text, setting, "fp32", 1, tmp_path / "work")


# -- turns, medians, tables ------------------------------------------------------------------------


def test_a_peer_that_is_not_installed_is_left_out_in_one_sentence(monkeypatch):
    monkeypatch.setattr(Pretender, "module", "no_such_toolkit")
    found = probe(Pretender(), Path(sys.executable))
    assert not found.versions
    assert found.reason == (
        f"seq2seq is left out: {sys.executable} cannot import no_such_toolkit "
        "(ModuleNotFoundError: No module named 'no_such_toolkit'); install torch and what it "
        "imports there."
    )
    with pytest.raises(UserError, match=r"peers_python=/nowhere cannot be started"):
        probe(Pretender(), Path("/nowhere"))


@pytest.fixture
def compared(corpus, tmp_path, monkeypatch) -> PeerComparison:
    """Two rounds of OpenNMT-py and this project at invented speeds; JoeyNMT is not installed."""
    speeds = iter([300.0, 100.0, 500.0, 250.0, 200.0, 100.0, 600.0, 400.0])

    def invented(toolkit, python, text, setting, precision, number, work):
        return TimedRun(toolkit.name, precision, number, Speed(next(speeds), 9.0), 1_000)

    def answer(toolkit, python):
        if toolkit.name == "joeynmt":
            return Probe({}, "joeynmt is left out.")
        return Probe({toolkit.package: "1.0"}, "")

    monkeypatch.setattr(comparison, "run", invented)
    monkeypatch.setattr(comparison, "probe", answer)
    setting = PeerSetting(batch_size=2, warm_up=1, updates=2)
    return compare_with_peers(
        ["joeynmt", "opennmt"], corpus, tmp_path / "work", Path("python"), setting, PRECISIONS, 2
    )


def test_programs_take_turns_and_ratios_stay_within_a_round(compared):
    order = [(run.round, run.precision, run.toolkit) for run in compared.runs]
    assert order == [
        (number, precision, name)
        for number in (1, 2)
        for precision in ("fp32", "bf16")
        for name in ("seq2seq", "opennmt")
    ]
    assert compared.speed("seq2seq", "fp32") == 250.0
    assert compared.speed("opennmt", "bf16") == 325.0
    assert compared.ratios("opennmt", "fp32") == [3.0, 2.0]
    assert compared.left_out == ["joeynmt is left out."]


def test_tables_show_medians_ratios_and_who_is_left_out(compared):
    markdown = comparison_markdown(compared)
    rows = [
        [cell.strip() for cell in line.strip("|").split(" | ")]
        for line in markdown.split("\n")
        if line.startswith("|")
    ]
    assert rows[2:] == [
        ["seq2seq", "fp32", "250", "1", "1,000"],
        ["opennmt", "fp32", "100", "2.50 (2.00-3.00)", "1,000"],
        ["seq2seq", "bf16", "550", "1", "1,000"],
        ["opennmt", "bf16", "325", "1.75 (1.50-2.00)", "1,000"],
    ]
    assert "joeynmt is left out." in markdown
    assert "OpenNMT-py 1.0" in markdown


def test_without_this_project_there_is_nothing_to_compare(monkeypatch):
    monkeypatch.setattr(comparison, "probe", lambda toolkit, python: Probe({}, "it is left out."))
    with pytest.raises(UserError, match=r"There is nothing to compare with: it is left out\."):
        comparison.find_programs(["eole"], Path("python"))
