"""The training loop: what it computes, what it leaves behind, and when it ends."""

import dataclasses
import json
import math
from pathlib import Path

import pytest
import torch
from helpers.reversal import reversal_experiment, with_optimizer, without_dropout
from helpers.small_training import metrics, train, weights

from seq2seq.checkpoint import load_checkpoint
from seq2seq.data.batching import collate
from seq2seq.data.preparation import prepare
from seq2seq.errors import UserError
from seq2seq.model.fast import choose
from seq2seq.model.translation import TranslationModel
from seq2seq.training.loss import batch_loss
from seq2seq.training.run_folder import RunFolder
from seq2seq.training.trainer import Trainer
from seq2seq.training.validation import Validator

pytestmark = pytest.mark.unchecked

CPU = torch.device("cpu")


def trainer_of(config) -> Trainer:
    """A training before its first update."""
    return Trainer(config, prepare(config.corpus, config.tokenization, Path(config.data)))


def trained(run) -> list[dict]:
    return [entry for entry in metrics(run) if entry["kind"] == "train"]


def validated(run) -> list[dict]:
    return [entry for entry in metrics(run) if entry["kind"] == "validation"]


# -- what is computed ------------------------------------------------------------------------------


def test_the_seed_decides_weights_order_and_dropout(folder):
    def drawn(seed: int) -> list[str]:
        trainer = trainer_of(dataclasses.replace(reversal_experiment(folder), seed=seed))
        order = [pairs.tolist() for pairs in trainer.plan.epoch(0)]
        weight = trainer.model.encoder.forwards[0].weight_ih_l0.tolist()
        return [str(one) for one in (weight, order, torch.rand(3).tolist())]

    one, again, other = drawn(1), drawn(1), drawn(2)
    assert one == again
    assert all(mine != theirs for mine, theirs in zip(one, other, strict=True))


def test_an_epoch_is_every_pair_once_in_batches_of_one_size(folder, monkeypatch):
    settings = {"batch_size": 20, "gradient_accumulation": 3}
    config = reversal_experiment(folder, max_epochs=1, **settings)
    update, updates = Trainer._update, []

    def noting(self, batches):
        updates.append([pairs.tolist() for pairs in batches])
        update(self, batches)

    monkeypatch.setattr(Trainer, "_update", noting)
    progress = train(config).record().progress
    assert progress.update == len(updates)
    assert {len(batches) for batches in updates[:-1]} == {3}
    batches = [batch for batches in updates for batch in batches]
    assert sorted(index for pairs in batches for index in pairs) == list(range(200))
    assert {len(pairs) for pairs in batches} == {20}
    lengths = prepare(config.corpus, config.tokenization, Path(config.data)).train.target_lengths
    assert progress.target_tokens == (lengths + 1).sum()


@pytest.mark.parametrize(("per", "clip_norm"), [("token", 0.1), ("sentence", 0.1), ("sentence", 0)])
def test_an_update_goes_along_the_clipped_gradient_of_the_mean_loss(folder, per, clip_norm):
    """Plain SGD at rate 1, so that the step is the gradient."""
    settings = {"label_smoothing": 0.3, "gradient_accumulation": 10, "max_epochs": 1}
    config = without_dropout(
        reversal_experiment(folder, clip_norm=clip_norm, loss_normalization=per, **settings)
    )
    settings = {"kind": "sgd", "learning_rate": 1.0, "warmup_updates": 0}
    trainer = trainer_of(with_optimizer(config, **settings))
    parameters = list(trainer.model.parameters())
    batch = collate(trainer.data.train, range(200))
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


def test_all_is_in_the_precision_and_as_repeatable_as_asked_for(folder, monkeypatch):
    encode, seen = TranslationModel.encode, set()

    def noting(self, source, lengths):
        refusing = torch.are_deterministic_algorithms_enabled()
        seen.add((self.training, torch.is_autocast_enabled("cpu"), refusing))
        return encode(self, source, lengths)

    monkeypatch.setattr(TranslationModel, "encode", noting)
    exact = train(reversal_experiment(folder))
    assert seen == {(True, False, False), (False, False, False)}
    seen.clear()
    config = reversal_experiment(folder, precision="bf16", deterministic=True)
    mixed = train(dataclasses.replace(config, output=str(folder / "mixed")))
    assert seen == {(True, True, True), (False, True, True)}
    assert not torch.are_deterministic_algorithms_enabled()
    losses = [[entry["loss"] for entry in validated(run)] for run in (exact, mixed)]
    assert losses[1] == pytest.approx(losses[0], rel=0.01)
    assert (exact.record().precision, mixed.record().precision) == ("float32", "bfloat16")


# -- what is left behind ---------------------------------------------------------------------------


def test_a_run_leaves_config_record_metrics_and_checkpoints(folder, monkeypatch):
    config = reversal_experiment(folder)
    corpus = dataclasses.replace(config.corpus, train_max_words=5)
    config = dataclasses.replace(config, corpus=corpus)
    monkeypatch.setattr(choose, "compiled_operations", lambda _: None)
    run = train(config)
    record = json.loads((run.path / "run.json").read_text())
    assert (record["status"], record["reason"].partition(",")[0]) == ("finished", "max_epochs=2")
    assert record["progress"]["epoch"] == 2
    assert record["parameters"]["attention"] == 32 * 16 + 32 * 16 + 16 + 16 * 32
    assert record["kernels"] == "torch"
    assert {"git_commit", "versions", "hardware", "command", "data_sha256"} <= set(record)
    lines = (folder / "corpus" / "train.source").read_text().splitlines()
    kept = sum(len(line.split()) <= 5 for line in lines)
    assert record["training_pairs"] == kept < 200
    assert record["skipped_pairs"]["train.max_words"] == 200 - kept
    best = min(validated(run), key=lambda entry: entry["loss"])
    assert set(best["bleu_by_length"]) <= {"1-2", "3-4", "5+"}
    assert record["progress"]["best_update"] == best["update"]
    assert run.best_metric == best["loss"]
    before = {p: p.stat().st_mtime_ns for p in run.path.rglob("*") if p.is_file()}
    train(config)  # a finished run is left alone
    assert {p: p.stat().st_mtime_ns for p in run.path.rglob("*") if p.is_file()} == before


@pytest.mark.parametrize(
    ("cut", "logged"), [({}, [7, 8, 10, 14, 16, 20]), ({"max_updates": 9}, [7, 8, 9])]
)
def test_no_update_is_missing_in_the_log(folder, cut, logged, caplog):
    """Validations, the ends of epochs and the last update end an interval, too."""
    with caplog.at_level("INFO"):
        run = train(reversal_experiment(folder, log_every=7, validate_every=8, **cut))
    lines = [line for line in caplog.messages if " elapsed" in line]
    assert [line.split()[1] for line in lines] == [str(update) for update in logged]
    assert "00:00 remaining" in lines[-1]
    assert [entry["update"] for entry in trained(run)] == logged
    assert [entry["epoch"] for entry in metrics(run)] == [e["update"] / 10 for e in metrics(run)]
    assert validated(run)[-1]["update"] == logged[-1]  # the last updates are validated and saved
    assert load_checkpoint(run.newest()[0], CPU).state.progress.update == logged[-1]


@pytest.mark.parametrize(("metric", "update", "value"), [("loss", 10, 1.0), ("bleu", 20, 7.0)])
def test_the_best_checkpoint_is_the_best_by_the_metric(folder, monkeypatch, metric, update, value):
    """Where BLEU rises, and the dev loss, too."""
    validate, measured = Validator.run, iter([(1.0, 5.0), (2.0, 7.0)])

    def rising(self):
        loss, bleu = next(measured)
        return dataclasses.replace(validate(self), loss=loss, bleu=bleu)

    monkeypatch.setattr(Validator, "run", rising)
    run = train(reversal_experiment(folder, early_stopping_metric=metric))
    assert run.best_metric == value
    assert ("best near the end" in run.record().reason) == (update == 20)
    best, then = (load_checkpoint(path, CPU) for path in (run.best, run.checkpoint(update)))
    assert best.state.progress.update == update
    kept = then.model.state_dict()
    assert all(torch.equal(kept[name], t) for name, t in best.model.state_dict().items())


def test_the_states_after_epochs_are_kept(folder):
    settings = {"max_epochs": 3, "validate_every": 7}
    run = train(reversal_experiment(folder, **settings, keep_epochs=[2, 1, 1]))
    assert {*run.path.glob("checkpoints/epoch-*")} == {run.epoch(1), run.epoch(2)}
    progress = load_checkpoint(run.epoch(2), CPU).state.progress
    assert (progress.epoch, progress.update) == (2, 20)


def test_the_record_names_the_commit_that_began_the_run(folder):
    config = reversal_experiment(folder)
    run = train(config)
    run.write_record(dataclasses.replace(run.record(), status="running", git_commit="0" * 40))
    assert train(config).record().earlier_commits == ["0" * 40]


# -- when it ends ----------------------------------------------------------------------------------


def test_patience_ends_training(folder):
    config = reversal_experiment(folder, max_epochs=50, patience=2)
    record = train(with_optimizer(config, learning_rate=0.0)).record()
    assert "loss" in record.reason
    assert (record.progress.epoch, record.progress.best_update) == (3, 10)


@pytest.mark.parametrize(
    ("limits", "updates"), [({"max_updates": 9}, 9), ({"gradient_accumulation": 2}, 10)]
)
def test_a_linear_rate_ends_with_whichever_limit_comes_first(folder, limits, updates):
    config = reversal_experiment(folder, log_every=1, **limits)
    run = train(with_optimizer(config, schedule="linear", warmup_updates=0))
    rates = [entry["learning_rate"] for entry in trained(run)]
    full = config.training.optimizer.learning_rate
    assert rates == pytest.approx([full * left / updates for left in range(updates, 0, -1)])


def test_an_average_of_the_weights_changes_nothing_but_makes_the_model_better(folder):
    config = reversal_experiment(folder, max_epochs=12, patience=12, log_every=1)
    config = with_optimizer(config, learning_rate=0.02)
    plain, averaged = (
        train(dataclasses.replace(with_optimizer(config, schedule=of), name=of))
        for of in ("constant", "average")
    )
    losses = [[entry["loss"] for entry in trained(run)] for run in (plain, averaged)]
    assert losses[0] == losses[1]
    ends = [[entry["loss"] for entry in validated(run)][-4:] for run in (plain, averaged)]
    assert all(better < worse for worse, better in zip(*ends, strict=True))


def test_a_diverged_dev_loss_reaches_no_checkpoint(folder, monkeypatch):
    config = reversal_experiment(folder, validate_every=5)
    validate, calls = Validator.run, [math.nan, 1.0]
    monkeypatch.setattr(
        Validator, "run", lambda self: dataclasses.replace(validate(self), loss=calls.pop())
    )
    with pytest.raises(UserError, match="nan"):
        train(config)
    assert load_checkpoint(RunFolder(config).newest()[0], CPU).state.progress.update == 5


def test_updates_that_are_not_finite_are_skipped_and_too_many_end_training(folder, monkeypatch):
    config = reversal_experiment(folder)
    data = prepare(config.corpus, config.tokenization, Path(config.data))
    marked = collate(data.train, [17]).source[0]

    def spoiled(model, batch, smoothing, scale=1.0):
        loss = batch_loss(model, batch, smoothing, scale)
        rows = zip(batch.source, batch.source_lengths, strict=True)
        worse = math.nan if any(torch.equal(row[:n], marked) for row, n in rows) else 1.0
        return loss._replace(
            smoothed=loss.smoothed * worse,
            negative_log_likelihood=loss.negative_log_likelihood * worse,
        )

    monkeypatch.setattr("seq2seq.training.graphs.batch_loss", spoiled)
    run = train(config)
    assert run.record().progress.nonfinite == 2  # once an epoch
    skipped = [entry["lines"] for entry in metrics(run) if entry["kind"] == "nonfinite"]
    assert [len(lines) for lines in skipped] == [20, 20]
    assert all(data.train.line_numbers[17] in lines for lines in skipped)
    assert sum(entry["nonfinite"] for entry in trained(run)) == 2
    assert all(math.isfinite(entry["loss"]) for entry in trained(run))
    assert all(tensor.isfinite().all() for tensor in weights(run).values())
    monkeypatch.setattr("seq2seq.training.trainer.MOST_NONFINITE", 1)
    with pytest.raises(UserError, match="not finite"):
        train(dataclasses.replace(config, output=str(folder / "other")))
