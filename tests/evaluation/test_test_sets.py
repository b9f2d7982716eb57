"""Test sets that sacreBLEU knows by name, or that were split off the training text."""

import dataclasses
import shutil

import pytest
from helpers.reversal import reversal_experiment, write_reversal_corpus
from helpers.small_training import train
from helpers.toy_evaluation import settings
from helpers.wmt14 import stand_in

from seq2seq.data.preparation import prepare
from seq2seq.errors import UserError
from seq2seq.evaluation.evaluate import evaluate

LINES = ["a b c", "b", "c d e f"], ["C B A", "B", "F E D C"]


@pytest.mark.parametrize("name", ["wmt14", "wmt14/full", "wmt14/tworefs"])
def test_a_test_set_of_sacrebleu_is_fetched_once_and_scored(run, tmp_path, monkeypatch, name):
    archive = stand_in(tmp_path, monkeypatch, *LINES, name=name)
    own = settings(run, output=str(tmp_path / "own"), test_sets=[name, "test"])
    public, test = evaluate(own)
    assert (public.texts.sources, public.texts.references) == LINES
    assert public.texts.more_references == [LINES[1]] * name.endswith("tworefs")
    assert public.directory == tmp_path / "own" / f"{name.replace('/', '_')}-greedy"
    assert test.overall.sentences == 100
    archive.unlink()  # and the text of the corpus is not needed
    moved = {"data": str(tmp_path / "none"), "directory": str(tmp_path / "none")}
    (again,) = evaluate(settings(run, output=str(tmp_path / "out"), test_sets=[name], **moved))
    assert again.texts == public.texts


@pytest.mark.parametrize("name", ["wmt14/ful", "wmt21/dev"])  # the second: of other languages
def test_another_name_is_refused(run, tmp_path, monkeypatch, name):
    stand_in(tmp_path, monkeypatch, *LINES)
    with pytest.raises(UserError, match=f"test_sets={name} "):
        evaluate(settings(run, output=str(tmp_path), test_sets=[name]))


def test_what_cannot_be_fetched_is_one_sentence(run, tmp_path, monkeypatch):
    archive = stand_in(tmp_path, monkeypatch, *LINES)
    kept = shutil.copy(archive, tmp_path / "kept.tgz")
    for content, names in ((None, "No such file"), (b"no archive", "delete .*wmt14")):
        archive.unlink(missing_ok=True)
        if content:
            archive.write_bytes(content)
        with pytest.raises(UserError, match=f"test_sets=wmt14 .*{names}"):
            evaluate(settings(run, output=str(tmp_path / "out"), test_sets=["wmt14"]))
    shutil.rmtree(tmp_path / "cache" / "wmt14")  # as the sentence says
    shutil.copy(kept, archive)
    assert len(evaluate(settings(run, output=str(tmp_path / "out"), test_sets=["wmt14"]))) == 1


def test_text_that_was_trained_on_is_told_of_after_its_split_has_changed(tmp_path, caplog):
    """Another text is split otherwise: sentences of the old training part are then test text."""
    folder, data = write_reversal_corpus(tmp_path / "corpus"), tmp_path / "data"
    for path in folder.glob("test.*"):
        path.unlink()
    config = reversal_experiment(tmp_path, max_updates=1)
    config.corpus = dataclasses.replace(config.corpus, test_pairs=20)
    run = train(config).path
    subject = {"data": str(data), "output": str(tmp_path / "out")}
    assert evaluate(settings(run, data=str(data)))[0].overall.sentences == 20
    assert "training text" not in caplog.text
    for path in folder.glob("train.*"):
        lines = path.read_text().splitlines(keepends=True)
        path.write_text("".join(lines[100:]))
    prepare(config.corpus, config.tokenization, data)
    evaluate(settings(run, **subject))
    assert "training text" in caplog.text
