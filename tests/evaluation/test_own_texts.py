"""A model is tested on the split that it was trained on, and is told where it cannot be."""

import dataclasses
import logging

import pytest
import torch
from reversal import reversal_experiment, write_reversal_corpus
from toy_evaluation import settings

from seq2seq.checkpoint import load_checkpoint
from seq2seq.config import GrammarCorpus, Multi30kCorpus
from seq2seq.data.corpora import load_corpus
from seq2seq.errors import UserError
from seq2seq.evaluation import own_texts
from seq2seq.evaluation.evaluate import evaluate
from seq2seq.evaluation.own_texts import find_own_texts

GRAMMAR = GrammarCorpus(train=200, valid=20, test_per_bucket=5)


def test_a_checkpoint_names_no_host_to_download_from(run, monkeypatch):
    class Asked(Exception):  # noqa: N818 - no error
        pass

    def load_corpus(corpus, data):
        raise Asked(corpus.mirror)

    monkeypatch.setattr(own_texts, "load_corpus", load_corpus)
    trained = load_checkpoint(run, torch.device("cpu")).config
    trained.corpus = Multi30kCorpus(mirror="http://stranger.example/")
    with pytest.raises(Asked, match="None"):
        find_own_texts(settings(run), trained, [])


def test_a_split_of_the_programs_own_must_be_that_of_the_training(run, tmp_path):
    data = tmp_path / "data"
    config = settings(run, data=str(data))
    trained = dataclasses.replace(reversal_experiment(tmp_path), corpus=GRAMMAR)
    text = load_corpus(GRAMMAR, data)
    assert find_own_texts(config, trained, [text.hashes()]) == text.tests
    assert find_own_texts(config, trained, []) == text.tests  # the run folder is not there
    other = load_corpus(dataclasses.replace(GRAMMAR, seed=7), data).hashes()
    assert not set(other.values()) & set(text.hashes().values())
    with pytest.raises(
        UserError,
        match=r"grammar: .*grammar-\w+ holds another text than the model was trained on "
        r"\(train\.source, train\.target, valid\.source, valid\.target\), so its test text may be",
    ):
        find_own_texts(config, trained, [text.hashes(), other])


def test_of_text_that_somebody_else_split_a_change_is_said(run, tmp_path, caplog):
    folder = write_reversal_corpus(run / "data" / "mine")  # which is no folder of the program's
    with caplog.at_level(logging.WARNING):
        evaluate(settings(run, directory=str(folder), output=str(tmp_path / "one")))
    assert not caplog.records
    for side, line in (("source", "a b"), ("target", "B A")):
        with (folder / f"train.{side}").open("a") as file:
            file.write(f"{line}\n")
    with caplog.at_level(logging.WARNING):
        evaluate(settings(run, directory=str(folder), output=str(tmp_path / "two")))
    (record,) = caplog.records
    assert record.message == (
        f"files: {folder} holds another text than the model was trained on (train.source, "
        "train.target): make sure that the test text is no part of what it has read."
    )
