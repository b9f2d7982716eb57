"""Checkpoints of a training: what is kept, and going on from it as if nothing had happened."""

import dataclasses
import itertools
import re
import shutil
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from reversal import reversal_experiment, write_reversal_corpus
from small_training import metrics, train, weights

from seq2seq.checkpoint import load_checkpoint
from seq2seq.config import ExperimentConfig
from seq2seq.data.codec import TextCodec
from seq2seq.data.preparation import prepare
from seq2seq.data.vocabulary import Vocabulary
from seq2seq.errors import UserError
from seq2seq.training import trainer
from seq2seq.training.run_folder import RunFolder
from seq2seq.training.saves import Saves
from seq2seq.training.trainer import Trainer
from seq2seq.training.updater import Updater
from seq2seq.training.validation import Validation


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_reversal_corpus(tmp_path / "corpus")
    return tmp_path


@pytest.fixture
def updates_of_20_seconds(monkeypatch) -> None:
    """Nothing else takes any time."""
    update, now = Updater.update, [1000.0]

    def slow(self, batches, tokens, sentences):
        now[0] += 20
        return update(self, batches, tokens, sentences)

    monkeypatch.setattr(Updater, "update", slow)
    monkeypatch.setattr(trainer, "time", SimpleNamespace(monotonic=lambda: now[0]))


class PowerCutError(Exception):
    pass


def train_until_a_power_cut(config: ExperimentConfig, updates: int) -> None:
    """Train, and come to a sudden end after so many updates."""
    update, made = Updater.update, itertools.count()

    def until_the_cut(self, batches, tokens, sentences):
        if next(made) == updates:
            raise PowerCutError
        return update(self, batches, tokens, sentences)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Updater, "update", until_the_cut)
        with pytest.raises(PowerCutError):
            train(config)


@pytest.mark.parametrize("cut", [10, 15])
def test_a_run_cut_short_ends_like_one_that_was_not(folder, cut):
    """Dropout, moments, batch order and metrics all go on where they were."""
    config = reversal_experiment(folder, validate_every=5)
    whole = train(config)
    other = dataclasses.replace(config, output=str(folder / "other"))
    train_until_a_power_cut(other, cut + 2)  # two updates after the last checkpoint
    resumed = train(other)
    expected, found = weights(whole), weights(resumed)
    assert all(torch.equal(expected[name], found[name]) for name in expected)
    assert metrics(resumed) == metrics(whole)


def test_a_rate_that_fell_on_a_plateau_is_as_low_after_a_cut(folder, monkeypatch):
    monkeypatch.setattr(Validation, "measure", lambda self, name: 0.0)  # never better than at first
    config = reversal_experiment(folder, validate_every=5)
    impatient = dataclasses.replace(config.training.optimizer, decay_patience=0)
    config = dataclasses.replace(
        config, training=dataclasses.replace(config.training, optimizer=impatient)
    )
    whole = metrics(train(config))
    rates = {e["update"]: e["learning_rate"] for e in whole if e["kind"] == "train"}
    assert rates == {5: 0.005, 10: 0.005, 15: 0.0025, 20: 0.00125}
    other = dataclasses.replace(config, output=str(folder / "other"))
    train_until_a_power_cut(other, 17)
    assert metrics(train(other)) == whole


def test_a_last_validation_that_is_cut_off_is_not_counted_twice(folder, monkeypatch):
    """The updates are saved by then; the dev loss is in the metrics, but in no checkpoint."""
    config = reversal_experiment(folder, validate_every=4, max_updates=6, save_minutes=0.0)
    whole = train(config)
    other = dataclasses.replace(config, output=str(folder / "other"))
    save = Saves.save_validated

    def cut_off(self, progress):
        if progress.update == 6:
            raise KeyboardInterrupt
        save(self, progress)

    monkeypatch.setattr(Saves, "save_validated", cut_off)
    with pytest.raises(KeyboardInterrupt):
        train(other)
    monkeypatch.undo()
    assert metrics(train(other)) == metrics(whole)


def test_the_state_is_saved_between_validations_and_that_changes_no_number(folder):
    config = reversal_experiment(folder)
    whole = train(config)
    other = dataclasses.replace(
        reversal_experiment(folder, save_minutes=0.0), output=str(folder / "other")
    )
    often = train(other)
    expected, found = weights(whole), weights(often)
    assert all(torch.equal(expected[name], found[name]) for name in expected)
    assert metrics(often) == metrics(whole)


@pytest.mark.usefixtures("updates_of_20_seconds")
def test_the_state_is_saved_once_so_many_minutes_have_passed_since_the_last_time(
    folder, monkeypatch
):
    save, saved = Saves.save_interim, []

    def noting(self, progress, window):
        saved.append(progress.update)
        save(self, progress, window)

    monkeypatch.setattr(Saves, "save_interim", noting)
    train(reversal_experiment(folder, save_minutes=1.0))
    assert saved == [4, 8, 14, 18]  # a validation saves it, too, after 10 and 20


@pytest.mark.usefixtures("updates_of_20_seconds")
def test_the_time_of_all_sittings_is_recorded(folder):
    config = reversal_experiment(folder, validate_every=5)
    train_until_a_power_cut(config, 12)
    assert train(config).record()["progress"]["seconds"] == 400


def test_going_on_under_other_conditions_is_said(folder, caplog, monkeypatch):
    config = reversal_experiment(folder)
    run = train(config)
    kernels = run.record()["kernels"]
    run.write_record({**run.record(), "status": "running"})
    monkeypatch.setattr(trainer, "choose_kernels", lambda *_: SimpleNamespace(name="others"))
    train(config)
    assert f"under other conditions: kernels was {kernels} and is now others." in caplog.text


def test_the_newest_checkpoints_and_the_best_are_kept(folder):
    config = reversal_experiment(folder, validate_every=5, keep_last=3)
    run = train(config)
    names = sorted(path.name for path in (run.path / "checkpoints").iterdir())
    assert names == ["best", "update-10", "update-15", "update-20"]


def shorten(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-1])


@pytest.mark.parametrize(
    ("file", "damage"), [("optimizer.safetensors", shorten), ("manifest.json", Path.unlink)]
)
def test_a_damaged_newest_checkpoint_costs_the_way_from_the_one_before(
    folder, caplog, file, damage
):
    config = reversal_experiment(folder, validate_every=5, max_updates=15)
    whole = train(config)
    expected, lines = weights(whole), metrics(whole)
    record = whole.record()
    whole.write_record({**record, "status": "running"})  # as if it had been cut off at the end
    damage(whole.checkpoint(15) / file)
    resumed = train(config)
    assert re.search(rf"{file} (in|is missing in) .*update-15", caplog.text)
    assert "Trying the checkpoint before it." in caplog.text
    found = weights(resumed)
    assert all(torch.equal(expected[name], found[name]) for name in expected)
    assert metrics(resumed) == lines
    assert resumed.refused == set()  # a whole one stands in its place


def test_what_is_saved_after_a_damaged_checkpoint_is_kept_beside_it(folder):
    """Though its number is lower: else the training would never get past the damaged one."""
    run = train(reversal_experiment(folder, validate_every=5, max_updates=15, keep_last=1))
    shutil.copytree(run.checkpoint(15), run.interim(12))
    run.refused = {run.checkpoint(15)}
    run.prune(1)
    assert run.newest() == [run.checkpoint(15), run.interim(12)]
    run.refused = set()
    run.prune(1)
    assert run.newest() == [run.checkpoint(15)]


def test_a_run_without_a_whole_checkpoint_is_not_begun_anew_over_it(folder):
    config = reversal_experiment(folder, validate_every=5)
    run = train(config)
    run.write_record({**run.record(), "status": "running"})
    for checkpoint in run.newest():
        (checkpoint / "state.json").write_text("{}")
    with pytest.raises(UserError, match=r"state\.json in .*update-20 is altered"):
        train(config)
    before = metrics(run)
    for checkpoint in run.newest():
        (checkpoint / "manifest.json").unlink()
    with pytest.raises(UserError, match=r"manifest\.json is missing in .*update-20; copy"):
        train(config)
    assert metrics(run) == before


def test_a_best_checkpoint_without_its_manifest_is_replaced_by_a_better_one(folder):
    config = reversal_experiment(folder, validate_every=5)
    train_until_a_power_cut(config, 7)
    run = RunFolder(config)
    (run.best / "manifest.json").unlink()
    with pytest.raises(UserError, match=r"manifest\.json is missing in .*best; copy"):
        load_checkpoint(run.path, torch.device("cpu"))  # not another checkpoint for it
    train(config)
    assert load_checkpoint(run.path, torch.device("cpu")).directory == run.best


def test_a_run_does_not_go_on_with_another_vocabulary_than_its_own(folder, caplog):
    """As when the prepared text was deleted, and made again by another version of a tokenizer."""
    config = reversal_experiment(folder, validate_every=5)
    train_until_a_power_cut(config, 7)
    data = prepare(config.corpus, config.tokenization, Path(config.data))
    pieces, counts = data.target.vocabulary.pieces[4:], data.target.vocabulary.counts[4:]
    turned = Vocabulary(pieces[::-1], counts[::-1])
    counted = Vocabulary(pieces, [counts[0] + 1, *counts[1:]])
    for vocabulary in (turned, counted):
        target = TextCodec(data.target.tokenizer, vocabulary)
        with pytest.raises(UserError) as caught:
            Trainer(config, dataclasses.replace(data, target=target)).run()
        run = folder / "outputs" / "reversal" / "attention" / "seed-1"
        assert str(caught.value) == (
            f"{run}/checkpoints/update-5 was trained on target text cut into other pieces than "
            f"those in {data.directory}; delete that folder and prepare the text with the code and "
            f"packages named in {run}/run.json, or choose another name=, seed= or output=."
        )
    assert "Trying the checkpoint before it." not in caplog.text  # which is of that one, too
    assert Trainer(config, data).run().finished
