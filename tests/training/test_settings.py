"""What a config sets of a training is what the training does, and what its record says."""

import dataclasses
import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from reversal import reversal_experiment, write_reversal_corpus
from small_training import train

from seq2seq.config import ExperimentConfig
from seq2seq.data.batching import collate
from seq2seq.data.preparation import prepare
from seq2seq.model.translation import TranslationModel
from seq2seq.training import metrics, trainer, window
from seq2seq.training.distributed import ALONE, Ranks
from seq2seq.training.trainer import Trainer
from seq2seq.training.updater import Updater


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_reversal_corpus(tmp_path / "corpus")
    return tmp_path


def begun(config: ExperimentConfig, ranks: Ranks = ALONE) -> Trainer:
    """A training before its first update."""
    return Trainer(config, prepare(config.corpus, config.tokenization, Path(config.data)), ranks)


@pytest.mark.parametrize(("precision", "narrow"), [("fp32", False), ("bf16", True)])
def test_updates_losses_and_translations_are_all_in_the_precision_asked_for(
    folder, monkeypatch, precision, narrow
):
    encode, seen = TranslationModel.encode, set()

    def noting(self, source, lengths):
        seen.add((self.training, torch.is_autocast_enabled("cpu")))
        return encode(self, source, lengths)

    monkeypatch.setattr(TranslationModel, "encode", noting)
    train(reversal_experiment(folder, max_updates=1, precision=precision))
    assert seen == {(True, narrow), (False, narrow)}


def test_batches_are_counted_in_the_unit_asked_for(folder):
    by_sentences = begun(reversal_experiment(folder, batch_size=60)).plan.epoch(0)
    assert sorted(map(len, by_sentences)) == [20, 60, 60, 60]
    by_tokens = begun(reversal_experiment(folder, batch_size=60, batch_unit="tokens"))
    lengths = by_tokens.data.train.target_lengths + 1
    batches = by_tokens.plan.epoch(0)
    assert all(len(pairs) * lengths[pairs].max() <= 60 for pairs in batches)
    assert len(batches) > 2 * len(by_sentences)


def of_seed(folder: Path, seed: int) -> Trainer:
    return begun(dataclasses.replace(reversal_experiment(folder), seed=seed))


@pytest.mark.parametrize(
    "shown",
    [
        lambda begun: begun.model.encoder.forwards[0].weight_ih_l0.tolist(),
        lambda begun: [pairs.tolist() for pairs in begun.plan.epoch(0)],
        lambda begun: torch.rand(3).tolist(),  # what dropout would draw next
    ],
    ids=["weights", "order", "dropout"],
)
def test_the_seed_decides(folder, shown: Callable[[Trainer], list]):
    one, again, other = (shown(of_seed(folder, seed)) for seed in (1, 1, 2))
    assert one == again != other


def test_several_processes_draw_by_the_seed(folder):
    given = []

    class Noting(Ranks):
        def seed(self, seed):
            given.append(seed)

    config = dataclasses.replace(reversal_experiment(folder), seed=7)
    begun(config, Noting())
    assert given == [7]


def test_dev_translations_are_cut_where_the_training_text_is(folder):
    config = reversal_experiment(folder)
    tokenization = dataclasses.replace(config.tokenization, max_pieces=7)
    validator = begun(dataclasses.replace(config, tokenization=tokenization)).validator
    assert validator.translator.max_pieces == 7


@pytest.mark.parametrize("wanted", [True, False])
def test_operations_that_may_differ_are_refused_where_that_is_asked_for(
    folder, monkeypatch, wanted
):
    update, seen = Updater.update, []

    def noting(self, batches, tokens, sentences):
        seen.append(torch.are_deterministic_algorithms_enabled())
        return update(self, batches, tokens, sentences)

    monkeypatch.setattr(Updater, "update", noting)
    train(reversal_experiment(folder, max_updates=1, deterministic=wanted))
    assert seen == [wanted]
    assert not torch.are_deterministic_algorithms_enabled()


@pytest.mark.parametrize("wanted", [True, False])
def test_tensorboard_gets_the_curves_where_it_is_asked_for(folder, monkeypatch, wanted):
    shown = []
    writer = SimpleNamespace(
        add_scalar=lambda name, value, update: shown.append((name, update)), close=lambda: None
    )
    monkeypatch.setattr(metrics, "_tensorboard_writer", lambda *_: writer)
    train(reversal_experiment(folder, max_updates=1, tensorboard=wanted))
    assert {("train/loss", 1), ("validation/loss", 1)} <= set(shown) if wanted else not shown


def test_waiting_for_data_is_the_share_of_time_that_batches_take(folder, monkeypatch):
    now = [1000.0]
    clock = SimpleNamespace(monotonic=lambda: now[0])
    update = Updater.update

    def slow_collate(pairs, indices):
        now[0] += 1
        return collate(pairs, indices)

    def slow_update(self, batches, tokens, sentences):
        now[0] += 3
        return update(self, batches, tokens, sentences)

    for module in (trainer, window):
        monkeypatch.setattr(module, "time", clock)
    monkeypatch.setattr(trainer, "collate", slow_collate)
    monkeypatch.setattr(Updater, "update", slow_update)
    run = train(reversal_experiment(folder, max_updates=10))
    lines = (run.path / "metrics.jsonl").read_text().splitlines()
    logged = [entry for entry in map(json.loads, lines) if entry["kind"] == "train"]
    assert [entry["waiting_for_data"] for entry in logged] == [0.25, 0.25]
    tokens = run.record()["progress"]["target_tokens"]
    assert sum(20 * entry["tokens_per_second"] for entry in logged) == pytest.approx(tokens)


def test_the_record_counts_the_pairs_that_are_trained_on_and_those_left_out(folder):
    config = reversal_experiment(folder, max_updates=1)
    corpus = dataclasses.replace(config.corpus, train_max_words=5)
    record = train(dataclasses.replace(config, corpus=corpus)).record()
    lines = (folder / "corpus" / "train.source").read_text().splitlines()
    kept = sum(len(line.split()) <= 5 for line in lines)
    assert record["training_pairs"] == kept < 200
    assert record["skipped_pairs"]["train.max_words"] == 200 - kept
