"""Updates that are not finite: skipped, counted, named, and too many of them refused."""

import json
import math
from pathlib import Path

import pytest
import torch
from reversal import reversal_experiment, write_reversal_corpus
from small_training import metrics, train, weights

from seq2seq.data.preparation import prepare
from seq2seq.errors import UserError
from seq2seq.training.loss import batch_loss


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_reversal_corpus(tmp_path / "corpus")
    return tmp_path


def spoil(monkeypatch, *pairs: int) -> None:
    """Make the loss of every batch with one of these pairs no number."""

    def spoiled(model, batch, smoothing, scale=1.0):
        loss = batch_loss(model, batch, smoothing, scale)
        worse = math.nan if set(pairs) & set(batch.indices.tolist()) else 1.0
        return loss._replace(
            smoothed=loss.smoothed * worse,
            negative_log_likelihood=loss.negative_log_likelihood * worse,
        )

    monkeypatch.setattr("seq2seq.training.updater.batch_loss", spoiled)


def test_updates_that_are_not_finite_are_skipped_counted_and_their_lines_named(folder, monkeypatch):
    spoil(monkeypatch, 17)
    config = reversal_experiment(folder)
    run = train(config)
    record = run.record()
    assert record["status"] == "finished"
    assert record["progress"]["skipped"] == 2  # once an epoch
    listed = [json.loads(line) for line in (run.path / "skipped.jsonl").read_text().splitlines()]
    data = prepare(config.corpus, config.tokenization, Path(config.data))
    for entry in listed:
        assert data.train.line_numbers[17] in entry["lines"]
        assert len(entry["lines"]) == 20
    trained = [e for e in metrics(run) if e["kind"] == "train"]
    assert sum(e["skipped"] for e in trained) == 2
    assert all(math.isfinite(e["loss"]) for e in trained)
    assert all(torch.isfinite(w).all() for w in weights(run).values())


def test_too_many_updates_that_are_not_finite_are_one_sentence(folder, monkeypatch):
    spoil(monkeypatch, *range(0, 200, 3))
    match = r"more than training\.max_nonfinite_updates=3"
    with pytest.raises(UserError, match=match):
        train(reversal_experiment(folder, max_nonfinite_updates=3))
