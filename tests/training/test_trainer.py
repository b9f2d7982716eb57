"""The training loop: what it computes, validates, logs and leaves behind, and when it ends."""

import dataclasses
import itertools
import math
import signal
import sys
from unittest.mock import Mock

import pytest
import torch
from helpers.reversal import reversal_experiment, with_optimizer, without_dropout
from helpers.small_training import content, metrics, train, train_until, trainer_of
from sacrebleu.metrics import BLEU
from safetensors.torch import load_file, load_model

from seq2seq.checkpoint import MODEL, UNAVERAGED, MetricsState
from seq2seq.config import DecodingConfig
from seq2seq.data.batching import collate
from seq2seq.data.text import read_lines
from seq2seq.errors import UserError
from seq2seq.model.translation import TranslationModel
from seq2seq.training.loss import batch_loss
from seq2seq.training.metrics import IntervalMetrics
from seq2seq.training.run_folder import RunFolder
from seq2seq.training.validation import Validator


def test_the_seed_decides_weights_order_and_dropout(folder):
    def drawn(seed: int) -> list[str]:
        trainer = trainer_of(dataclasses.replace(reversal_experiment(folder), seed=seed))
        order = [pairs.tolist() for pairs in trainer.plan.epoch(0)]
        weight = trainer.model.encoder.forwards[0].weight_ih_l0.tolist()
        return [str(one) for one in (weight, order, torch.rand(3).tolist())]

    one, again, other = drawn(1), drawn(1), drawn(2)
    assert one == again
    assert all(mine != theirs for mine, theirs in zip(one, other, strict=True))


@pytest.mark.parametrize(("per", "clip_norm"), [("token", 0.1), ("sentence", 0.1), ("sentence", 0)])
def test_an_update_goes_along_the_clipped_gradient_of_the_mean_loss(folder, per, clip_norm):
    """Plain SGD at rate 1, so that the step is the gradient; an epoch has fewer than 20 batches."""
    settings = {"label_smoothing": 0.3, "gradient_accumulation": 20, "max_epochs": 1}
    config = without_dropout(
        reversal_experiment(folder, clip_norm=clip_norm, loss_normalization=per, **settings)
    )
    trainer = trainer_of(with_optimizer(config, kind="sgd", learning_rate=1.0, warmup_updates=0))
    parameters = list(trainer.model.parameters())
    batch = collate(trainer.data.train, range(200))
    tokens = len(batch.target_cells)
    loss = batch_loss(trainer.model, batch, smoothing=0.3)
    scaled = loss.smoothed / {"token": tokens, "sentence": 200}[per]
    scaled.backward()
    norm = torch.nn.utils.clip_grad_norm_(parameters, clip_norm or math.inf)
    assert norm > 0.1
    expected = [(p - p.grad).detach() for p in parameters]
    trainer.model.zero_grad()
    logged, _ = metrics(trainer.run())
    assert trainer.progress.target_tokens == tokens
    mean = loss.negative_log_likelihood / tokens
    assert logged["loss"] == pytest.approx(mean.item(), rel=1e-5)
    assert logged["gradient_norm"] == pytest.approx(norm.item(), rel=1e-4)
    torch.testing.assert_close(parameters, expected, atol=1e-6, rtol=1e-4)


@pytest.mark.parametrize(("precision", "exact"), [("fp32", False), ("bf16", True)])
def test_all_is_in_the_precision_and_as_repeatable_as_asked_for(
    folder, monkeypatch, precision, exact
):
    encode, seen = TranslationModel.encode, set()

    def noting(self, source, lengths):
        refusing = torch.are_deterministic_algorithms_enabled()
        seen.add((self.training, torch.is_autocast_enabled("cpu"), refusing))
        return encode(self, source, lengths)

    monkeypatch.setattr(TranslationModel, "encode", noting)
    settings = {"precision": precision, "deterministic": exact, "max_updates": 1}
    run = train(reversal_experiment(folder, **settings))
    mixed = precision == "bf16"
    assert seen == {(True, mixed, exact), (False, mixed, exact)}
    assert not torch.are_deterministic_algorithms_enabled()
    assert run.record().precision == ("bfloat16" if mixed else "float32")


def test_a_run_leaves_record_metrics_and_checkpoints(folder):
    """Validations, the ends of epochs and the last update end an interval of the log, too."""
    config = reversal_experiment(folder, log_every=7, validate_every=8, max_updates=17)
    corpus = dataclasses.replace(config.corpus, train_max_words=5)
    config = dataclasses.replace(config, corpus=corpus)
    run = train(config)
    record, before = run.record(), content(run)
    lines = (folder / "corpus" / "train.source").read_text().splitlines()
    kept = sum(len(line.split()) <= 5 for line in lines)
    assert record.training_pairs == kept < 200
    epoch = math.ceil(kept / 20)
    assert [one["update"] for one in metrics(run, "train")] == sorted({7, 14, 8, 16, epoch, 17})
    validations = metrics(run, "validation")
    assert [one["update"] for one in validations] == [8, 16, 17]
    best = min(validations, key=lambda entry: entry["loss"])
    assert (record.progress.best_update, run.best_metric) == (best["update"], best["loss"])
    assert [path.name for path in run.newest()] == ["interim-17", "update-16", "update-8"]
    for limit in (17, 9):  # a finished run is left alone
        training = dataclasses.replace(config.training, max_updates=limit)
        train(dataclasses.replace(config, training=training))
        assert content(run) == before


def let_validate(monkeypatch, *found: dict[str, float]) -> None:
    """Let validations find these numbers, one after another."""
    validate, given = Validator.run, iter(found)
    monkeypatch.setattr(
        Validator, "run", lambda self: dataclasses.replace(validate(self), **next(given))
    )


@pytest.mark.parametrize(("metric", "best"), [("loss", 10), ("bleu", 20)])
def test_the_metric_decides_on_the_best_checkpoint_and_on_patience(
    folder, monkeypatch, metric, best
):
    """Where BLEU rises at first, and the dev loss, too."""
    let_validate(monkeypatch, {"loss": 1.0, "bleu": 5.0}, *[{"loss": 2.0, "bleu": 7.0}] * 3)
    settings = {"patience": 2, "max_epochs": 9, "keep_epochs": [2, 1, 1]}
    run = train(reversal_experiment(folder, early_stopping_metric=metric, **settings))
    progress = run.record().progress
    assert (progress.best_update, progress.update) == (best, best + 20)
    assert metric in run.record().reason
    assert {*run.path.glob("checkpoints/epoch-*")} == {run.epoch(1), run.epoch(2)}
    saved, kept = (load_file(place / MODEL) for place in (run.best, run.epoch(best // 10)))
    torch.testing.assert_close(saved, kept, rtol=0, atol=0)


@pytest.mark.parametrize(
    ("limits", "updates"), [({"max_updates": 9}, 9), ({"gradient_accumulation": 2}, 10)]
)
def test_a_linear_rate_ends_with_whichever_limit_comes_first(folder, limits, updates):
    config = reversal_experiment(folder, log_every=1, **limits)
    run = train(with_optimizer(config, schedule="linear", warmup_updates=0))
    rates = [entry["learning_rate"] for entry in metrics(run, "train")]
    full = config.training.optimizer.learning_rate
    assert rates == pytest.approx([full * left / updates for left in range(updates, 0, -1)])


def test_an_average_of_the_weights_is_validated_and_saved_and_changes_no_update(folder):
    config = reversal_experiment(folder)
    plain, averaged = (
        train(dataclasses.replace(with_optimizer(config, schedule=of), name=of))
        for of in ("constant", "average")
    )
    trainer, newest = trainer_of(config), averaged.newest()[0]
    load_model(trainer.model, plain.newest()[0] / MODEL)
    unaveraged = load_file(newest / UNAVERAGED)
    for place, parameter in enumerate(trainer.model.parameters()):
        assert torch.equal(unaveraged[str(place)], parameter)
    alone = trainer.validator.run().loss
    load_model(trainer.model, newest / MODEL)
    assert trainer.validator.run().loss == metrics(averaged, "validation")[-1]["loss"] != alone


def test_a_diverged_dev_loss_reaches_no_checkpoint(folder, monkeypatch):
    config = reversal_experiment(folder, validate_every=5)
    let_validate(monkeypatch, {"loss": 1.0}, {"loss": math.nan})
    with pytest.raises(UserError, match="nan"):
        train(config)
    assert RunFolder(config).newest()[0].name == "update-5"


def test_updates_that_are_not_finite_are_skipped_and_listed_but_few_of_them(folder, monkeypatch):
    config = reversal_experiment(folder, max_epochs=1)
    passes = itertools.count(1)

    def spoiled(*given):
        loss = batch_loss(*given)
        worse = math.nan if next(passes) % 10 == 7 else 1.0
        return loss._replace(negative_log_likelihood=loss.negative_log_likelihood * worse)

    monkeypatch.setattr("seq2seq.training.graphs.batch_loss", spoiled)
    run, trainer = train(config), trainer_of(config)
    lines = trainer.data.train.line_numbers[trainer.plan.epoch(0)[6]].tolist()
    assert [entry["lines"] for entry in metrics(run, "nonfinite")] == [lines]
    logged = [(entry["nonfinite"], math.isfinite(entry["loss"])) for entry in metrics(run, "train")]
    assert logged == [(0, True), (1, True)]
    assert run.record().progress.nonfinite == 1
    monkeypatch.setattr("seq2seq.training.trainer.MOST_NONFINITE", 0)
    with pytest.raises(UserError, match="not finite"):
        train(dataclasses.replace(config, name="other"))


def test_validation_has_the_loss_and_bleu_of_single_sentences(folder, monkeypatch):
    """BLEU counts characters, since the target is Thai."""
    monkeypatch.setattr("seq2seq.evaluation.scores.TINY", 1)
    config = reversal_experiment(folder, dev_bleu_sentences=20)
    corpus = dataclasses.replace(config.corpus, target="th")
    trainer = trainer_of(dataclasses.replace(config, corpus=corpus))
    for batches in trainer._updates(0):
        trainer._update(batches)
    validator, data = trainer.validator, trainer.data
    references = ["".join(reference.split()) for reference in validator.references]
    validator.references = references
    found = validator.run()
    assert found == validator.run()  # without dropout
    loss, tokens = 0.0, 0
    for index in range(len(data.valid)):
        batch = collate(data.valid, [index])
        loss += batch_loss(trainer.model, batch, 0.0).negative_log_likelihood.item()
        tokens += len(batch.target_cells)
    assert found.loss == pytest.approx(loss / tokens, rel=1e-5)
    assert found.perplexity == pytest.approx(math.exp(found.loss), rel=1e-4)
    score = BLEU(tokenize="char").corpus_score
    sources = list(read_lines(data.corpus.valid.source))[:20]
    translator, greedy = validator.translator, DecodingConfig(beam=1)
    hypotheses = [translator.translate([source], greedy)[0].text for source in sources]
    assert found.bleu == pytest.approx(score(hypotheses, [references]).score)
    short = [i for i, source in enumerate(sources) if len(source.split()) <= 2]
    expected = score([hypotheses[i] for i in short], [[references[i] for i in short]]).score
    assert found.bleu_by_length["1-2"] == pytest.approx(expected)


def test_an_interval_averages_over_tokens_and_updates():
    entry = IntervalMetrics(MetricsState(finite=[[30.0, 1.0, 10], [60.0, 3.0, 15]])).entry()
    assert (entry["loss"], entry["gradient_norm"]) == (3.6, 2.0)


def test_a_resumed_training_continues_its_tracked_run(folder, monkeypatch):
    """The server is gone in the end, which fails no training."""
    tracked = Mock(id="some id", **{"finish.side_effect": ConnectionError})
    monkeypatch.setitem(sys.modules, "wandb", wandb := Mock(**{"init.return_value": tracked}))
    config = reversal_experiment(folder, logger="wandb")
    train_until(config, 7, signal.SIGINT)
    losses = {one["update"]: one["loss"] for one in metrics(train(config), "train")}
    assert [call.kwargs["id"] for call in wandb.init.call_args_list] == [None, "some id"]
    sent = [call.args for call in tracked.log.call_args_list if "train/loss" in call.args[0]]
    assert {update: values["train/loss"] for values, update in sent} == losses


def test_tensorboard_shows_updates_that_are_made_again_once(folder):
    reader = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    config = reversal_experiment(folder, logger="tensorboard", log_every=1)
    train_until(config, 14)
    run = train(config)
    events = reader.EventAccumulator(str(run.path / "tensorboard"))
    events.Reload()
    shown = {event.step: event.value for event in events.Scalars("train/loss")}
    assert shown == pytest.approx({one["update"]: one["loss"] for one in metrics(run, "train")})
    assert len(events.Scalars("train/loss")) == len(shown)
