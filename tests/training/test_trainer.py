"""The training loop: what it leaves behind, and when it ends."""

import dataclasses
import json
import math
import os
from pathlib import Path

import pytest
import torch
from reversal import reversal_experiment, with_optimizer, without_dropout, write_reversal_corpus
from seq2seq.model.kernels import torch_only
from seq2seq.model.kernels.native import load_native
from small_training import metrics, train, weights

from seq2seq.checkpoint import load_checkpoint
from seq2seq.data.batching import collate
from seq2seq.data.preparation import prepare
from seq2seq.errors import UserError
from seq2seq.training.loss import batch_loss
from seq2seq.training.run_folder import RunFolder
from seq2seq.training.saves import Saves
from seq2seq.training.trainer import Trainer
from seq2seq.training.updater import Updater
from seq2seq.training.validation import Validator

CPU = torch.device("cpu")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_reversal_corpus(tmp_path / "corpus")
    return tmp_path


@pytest.mark.parametrize(
    ("cut", "logged"), [({}, [7, 8, 10, 14, 16, 20]), ({"max_updates": 9}, [7, 8, 9])]
)
def test_no_update_is_missing_in_the_log(folder, cut, logged):
    """Validations, the ends of epochs and the last update close what is averaged, too."""
    run = train(reversal_experiment(folder, log_every=7, validate_every=8, **cut))
    assert [e["update"] for e in metrics(run) if e["kind"] == "train"] == logged


def test_epochs_are_logged_with_the_fraction_of_the_one_under_way(folder):
    run = train(reversal_experiment(folder, log_every=3, validate_every=4))
    assert [e["epoch"] for e in metrics(run)] == [e["update"] / 10 for e in metrics(run)]


def test_a_run_leaves_config_record_metrics_and_checkpoints(folder):
    run = train(reversal_experiment(folder))
    record = json.loads((run.path / "run.json").read_text())
    assert record["status"] == "finished"
    assert record["reason"] == "max_epochs=2"
    assert record["progress"]["update"] == 20
    assert record["progress"]["epoch"] == 2
    assert record["parameters"]["attention"] == 32 * 16 + 32 * 16 + 16 + 16 * 32
    assert {"git_commit", "versions", "hardware", "command", "data_sha256"} <= set(record)
    entries = metrics(run)
    assert [e["update"] for e in entries if e["kind"] == "train"] == [5, 10, 15, 20]
    validations = [e for e in entries if e["kind"] == "validation"]
    assert [e["update"] for e in validations] == [10, 20]
    assert set(validations[0]["bleu_by_length"]) <= {"1-2", "3-4", "5+"}
    best = min(validations, key=lambda e: e["loss"])
    assert record["progress"]["best_update"] == best["update"]


def test_the_record_names_precision_and_kernels(folder):
    with torch_only():
        plain = train(reversal_experiment(folder, max_updates=1)).record()
    assert (plain["precision"], plain["kernels"]) == ("float32", "torch")
    config = reversal_experiment(folder, max_updates=1, precision="bf16")
    chosen = train(dataclasses.replace(config, output=str(folder / "chosen"))).record()
    assert chosen["precision"] == "bfloat16"
    assert chosen["kernels"] == ("native" if load_native() else "torch")


def test_the_same_seed_gives_the_same_weights_and_another_seed_others(folder):
    first = weights(train(reversal_experiment(folder)))
    again = weights(
        train(dataclasses.replace(reversal_experiment(folder), output=str(folder / "again")))
    )
    other = weights(train(dataclasses.replace(reversal_experiment(folder), seed=2)))
    assert all(torch.equal(first[name], again[name]) for name in first)
    assert not all(torch.equal(first[name], other[name]) for name in first)


def test_two_trainings_of_one_folder_are_refused(folder):
    config = reversal_experiment(folder)
    run = RunFolder(config)
    run.claim()
    with (
        run.locked(),
        pytest.raises(UserError, match=rf"is being trained by process {os.getpid()};"),
    ):
        train(config)
    assert train(config).finished


def test_going_on_with_another_text_is_refused(folder, monkeypatch):
    config = reversal_experiment(folder)
    run = train(config)
    record = run.record()
    run.write_record({**record, "status": "running"})
    text = folder / "corpus" / "train.target"
    text.write_text(text.read_text().replace("A", "Z", 1))
    with pytest.raises(UserError, match=r"was trained on another text: train\.target has changed"):
        train(config)


def test_a_finished_run_is_left_alone(folder):
    run = train(reversal_experiment(folder))
    before = {p: p.stat().st_mtime_ns for p in run.path.rglob("*") if p.is_file()}
    train(reversal_experiment(folder))
    assert {p: p.stat().st_mtime_ns for p in run.path.rglob("*") if p.is_file()} == before


def test_accumulated_micro_batches_make_the_update_of_the_whole_batch(folder):
    """Loss and gradient are per token of the whole update, not per micro-batch.

    SGD, whose step is the gradient: Adam's first step makes rounding as large as the rest.
    """
    config = with_optimizer(reversal_experiment(folder), kind="sgd")
    data = prepare(config.corpus, config.tokenization, Path(config.data))
    model = dataclasses.replace(config.model, dropout=0.0)
    trainers = []
    for name in ("whole", "parts"):
        trainer = Trainer(dataclasses.replace(config, model=model, output=name), data)
        trainers.append(trainer)
    whole, parts = trainers
    indices = whole.plan.epoch(0)[0]
    cuts = [indices[:3], indices[3:11], indices[11:]]
    found = whole.updater.update([collate(data.train, indices)])
    split = parts.updater.update([collate(data.train, part) for part in cuts])
    torch.testing.assert_close(found[:2], split[:2])
    assert found.tokens == split.tokens
    for mine, theirs in zip(whole.model.parameters(), parts.model.parameters(), strict=True):
        torch.testing.assert_close(mine, theirs, atol=1e-6, rtol=1e-4)


def test_an_epoch_is_every_pair_once_however_many_batches_make_an_update(folder, monkeypatch):
    config = reversal_experiment(folder, gradient_accumulation=3, max_epochs=1)
    update, pairs = Updater.update, []

    def noting(self, batches, tokens, sentences):
        pairs.extend(index for batch in batches for index in batch.indices.tolist())
        return update(self, batches, tokens, sentences)

    monkeypatch.setattr(Updater, "update", noting)
    progress = train(config).record()["progress"]
    assert progress["update"] == 4  # the last has one batch
    assert sorted(pairs) == list(range(200))
    lengths = prepare(config.corpus, config.tokenization, Path(config.data)).train.target_lengths
    assert progress["target_tokens"] == (lengths + 1).sum()


@pytest.mark.parametrize(("per", "clip_norm"), [("token", 0.1), ("sentence", 0.1), ("sentence", 0)])
def test_an_update_goes_along_the_clipped_gradient_of_the_mean_loss(folder, per, clip_norm):
    """Plain SGD at rate 1, so that the step is the gradient."""
    settings = {"label_smoothing": 0.3, "gradient_accumulation": 10, "max_epochs": 1}
    config = without_dropout(
        reversal_experiment(folder, clip_norm=clip_norm, loss_normalization=per, **settings)
    )
    config = with_optimizer(config, kind="sgd", learning_rate=1.0)
    data = prepare(config.corpus, config.tokenization, Path(config.data))
    trainer = Trainer(config, data)
    parameters = list(trainer.model.parameters())
    batch = collate(data.train, range(200))
    tokens = len(batch.target_cells)
    loss = batch_loss(trainer.model, batch, smoothing=0.3)
    gradients = torch.autograd.grad(
        loss.smoothed / {"token": tokens, "sentence": 200}[per], parameters
    )
    norm = torch.nn.utils.get_total_norm(gradients)
    assert norm > 0.1
    step = clip_norm / norm if clip_norm else 1
    expected = [p.detach() - step * g for p, g in zip(parameters, gradients, strict=True)]
    logged, _ = metrics(trainer.run())
    mean = loss.negative_log_likelihood / tokens
    assert logged["loss"] == pytest.approx(mean.item(), rel=1e-5)
    assert logged["gradient_norm"] == pytest.approx(norm.item(), rel=1e-4)
    torch.testing.assert_close([p.detach() for p in parameters], expected, atol=1e-6, rtol=1e-4)


def test_patience_ends_training(folder):
    config = reversal_experiment(folder, max_epochs=50, patience=2)
    run = train(with_optimizer(config, learning_rate=0.0))
    record = run.record()
    assert record["reason"] == "no better dev loss in 2 validations"
    assert record["progress"]["epoch"] == 3
    assert record["progress"]["best_update"] == 10


def test_max_updates_ends_training_with_a_checkpoint(folder):
    run = train(reversal_experiment(folder, max_updates=3))
    assert run.record()["progress"]["update"] == 3
    assert run.best.exists()


@pytest.mark.parametrize(
    ("limits", "updates"), [({}, 20), ({"max_updates": 9}, 9), ({"gradient_accumulation": 2}, 10)]
)
def test_a_linear_rate_ends_with_whichever_limit_comes_first(folder, limits, updates):
    config = reversal_experiment(folder, log_every=1, **limits)
    run = train(with_optimizer(config, schedule="linear", warmup_updates=0))
    rates = [e["learning_rate"] for e in metrics(run) if e["kind"] == "train"]
    full = config.training.optimizer.learning_rate
    steps = [full * left / updates for left in range(updates, 0, -1)]
    assert rates == pytest.approx(steps)


@pytest.mark.parametrize(("measure", "update"), [("loss", 10), ("bleu", 20)])
def test_the_best_checkpoint_is_the_best_by_the_measure(folder, monkeypatch, measure, update):
    """Where BLEU rises, and the dev loss, too."""
    validate, measured = Validator.run, iter([(1.0, 5.0), (2.0, 7.0)])

    def rising(self):
        loss, bleu = next(measured)
        return dataclasses.replace(validate(self), loss=loss, bleu=bleu)

    monkeypatch.setattr(Validator, "run", rising)
    run = train(reversal_experiment(folder, early_stopping_metric=measure))
    best, then = (load_checkpoint(path, CPU) for path in (run.best, run.checkpoint(update)))
    assert best.state["progress"]["update"] == update
    kept = then.model.state_dict()
    assert all(torch.equal(kept[name], t) for name, t in best.model.state_dict().items())


def test_bfloat16_trains_to_about_the_same_loss(folder):
    exact = train(reversal_experiment(folder))
    config = dataclasses.replace(
        reversal_experiment(folder, precision="bf16"), output=str(folder / "mixed")
    )
    mixed = train(config)
    losses = [
        [e["loss"] for e in metrics(run) if e["kind"] == "validation"] for run in (exact, mixed)
    ]
    assert losses[1] == pytest.approx(losses[0], rel=0.01)


def test_cuda_where_there_is_none_is_one_sentence(folder):
    if torch.cuda.is_available():
        pytest.skip("there is a CUDA device")
    with pytest.raises(UserError, match="device=cuda"):
        train(reversal_experiment(folder, device="cuda"))


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_trains_on_a_gpu(folder):
    run = train(reversal_experiment(folder, device="cuda", precision="auto"))
    assert run.record()["status"] == "finished"


def test_the_updates_after_the_last_validation_are_validated_and_saved_too(folder):
    run = train(reversal_experiment(folder, max_updates=7, validate_every=5))
    validated = [e["update"] for e in metrics(run) if e["kind"] == "validation"]
    assert validated == [5, 7]
    assert load_checkpoint(run.newest()[0], CPU).state["progress"]["update"] == 7


def test_an_exploded_dev_loss_reaches_no_checkpoint(folder, monkeypatch):
    config = reversal_experiment(folder, validate_every=5)
    run_validation = Validator.run

    def exploding(self):
        validation = run_validation(self)
        return dataclasses.replace(validation, loss=math.nan) if calls.pop() else validation

    calls = [True, False]
    monkeypatch.setattr(Validator, "run", exploding)
    with pytest.raises(UserError, match=r"The dev loss became nan by update 10; train again"):
        train(config)
    assert load_checkpoint(RunFolder(config).newest()[0], CPU).state["progress"]["update"] == 5


def test_the_record_follows_the_training(folder, monkeypatch):
    """Whoever looks while it runs sees how far it has come."""
    config = reversal_experiment(folder)
    seen = []
    save = Saves.save_validated

    def looking(self, progress):
        seen.append(self.folder.record())
        save(self, progress)

    monkeypatch.setattr(Saves, "save_validated", looking)
    train(config)
    assert seen[-1]["status"] == "running"
    assert seen[-1]["progress"]["update"] == 10


def test_the_record_keeps_which_code_began_the_run(folder):
    config = reversal_experiment(folder)
    run = train(config)
    record = run.record()
    assert record["earlier_commits"] == []
    run.write_record({**record, "status": "running", "git_commit": "0" * 40})
    assert train(config).record()["earlier_commits"] == ["0" * 40]
