"""The commands from Python do what the scripts do."""

import pytest
from helpers.commands import TOY, draw_nothing
from helpers.composing import compose_config

import seq2seq
from seq2seq.api import _run
from seq2seq.evaluation.folder import read_evaluation


def test_settings_with_pythons_values_are_those_of_a_command_line():
    groups = {
        "seed": 3,
        "training": {"max_updates": None, "keep_epochs": [1, 4], "deterministic": True},
        "corpus": {"directory": "my text, old"},
        "model": {"dropout": 0.25},
    }
    typed = ["experiment=own_text", "seed=3", "training.max_updates=null", "model.dropout=0.25"]
    typed += ["training.keep_epochs=[1,4]", "training.deterministic=true"]
    typed += ["corpus.directory=my text, old", "corpus.source=en"]
    words = ("experiment=own_text", "corpus.source=en")
    assert _run("train", lambda config: config, words, groups) == compose_config("train", typed)


@pytest.mark.slow
def test_train_reproduce_and_evaluate_return_what_they_wrote(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    draw_nothing(monkeypatch)
    toy = [*TOY, "corpus.test_per_bucket=1", "training.max_updates=4"]
    run = seq2seq.train(*toy, system="attention")
    assert run.record().command == ["train.py", *toy, "system=attention"]
    assert run.metrics[-1]["update"] == run.record().progress.update == 4
    line = run.translator.translate("the dog sees the cat .").text
    assert line == seq2seq.Translator(run.path).translate("the dog sees the cat .").text
    ((folder, comparison),) = seq2seq.reproduce(*toy, beams=[1]).items()
    assert (tmp_path / folder / "page.html").exists()
    assert {system.name for system in comparison.systems} == {"attention", "no-attention"}
    (evaluation,) = seq2seq.evaluate(checkpoint=run.path, beams=[1], output=tmp_path / "scored")
    assert evaluation.overall == read_evaluation(evaluation.directory).overall
    for each in (run, comparison, evaluation):
        assert "attention" in repr(each)
        assert len(repr(each)) < 500
    with pytest.raises(seq2seq.UserError, match=r"max_epochs"):
        seq2seq.train(training={"max_epochz": 2})


def test_what_a_terminal_would_obey_is_spelt_out_in_an_error():
    error = seq2seq.UserError("name=a\nb\x1b[2J\u2028\ud800\u202e is no Fuß, 日本 or 🙂.")
    assert str(error) == r"name=a\nb\x1b[2J\u2028\ud800\u202e is no Fuß, 日本 or 🙂."
