"""Several processes that train together end like one, and like one they can be cut short."""

import dataclasses
import functools
import itertools
import math
import multiprocessing
import os
import signal
import socket
from collections.abc import Callable

import pytest
import torch
from helpers.reversal import reversal_experiment, with_optimizer, without_dropout
from helpers.small_checkpoint import CPU
from helpers.small_training import before_update, metrics, outcome, train, weights

from seq2seq import distributed
from seq2seq.checkpoint import load_checkpoint
from seq2seq.config import TrainConfig
from seq2seq.distributed import ProcessGroup, process_group
from seq2seq.errors import UserError
from seq2seq.interruption import Interrupted
from seq2seq.training import graphs
from seq2seq.training.loss import batch_loss
from seq2seq.training.run_folder import RunFolder

Event = Callable[[], None]

# Children of a process that has imported all of it already start within milliseconds.
context = multiprocessing.get_context("forkserver")
context.set_forkserver_preload(["seq2seq.training.trainer", "test_distributed"])


def rank_main(rank: int, size: int, port: int, configs: list[TrainConfig], event: Event | None):
    """What one of ``size`` processes does; to the last of them something happens."""
    os.environ |= {"RANK": str(rank), "WORLD_SIZE": str(size), "LOCAL_RANK": str(rank)}
    os.environ |= {"MASTER_ADDR": "localhost", "MASTER_PORT": str(port)}
    os.environ["TORCHELASTIC_RUN_ID"] = "none"
    torch.set_num_threads(1)
    if event is not None and rank == size - 1:
        event()
    try:
        for config in configs:
            with process_group(config.training.device) as group:
                train(config, group)
    except (UserError, Interrupted) as error:
        raise SystemExit(getattr(error, "status", 1)) from None


def together(size: int, *configs: TrainConfig, event: Event | None = None) -> list[int | None]:
    """Train in ``size`` processes; their exit statuses."""
    with socket.socket() as free:
        free.bind(("localhost", 0))
        port = free.getsockname()[1]
    children = [
        context.Process(target=rank_main, args=(rank, size, port, configs, event))
        for rank in range(size)
    ]
    for child in children:
        child.start()
    try:
        for child in children:
            child.join(240)
        return [child.exitcode for child in children]
    finally:
        for child in children:
            child.kill()  # one that hangs must not outlive its test


def signalled(number: int, update: int) -> Event:
    """Let the process get a signal when it is about to make an update."""
    return functools.partial(before_update, update, functools.partial(signal.raise_signal, number))


def spoiled() -> None:
    """Let this process's loss be NaN once, at its fifth pass."""
    passes = itertools.count(1)

    def spoiling(model, batch, smoothing, scale=1.0):
        loss = batch_loss(model, batch, smoothing, scale)
        worse = math.nan if next(passes) == 5 else 1.0
        return loss._replace(negative_log_likelihood=loss.negative_log_likelihood * worse)

    graphs.batch_loss = spoiling


@pytest.mark.slow
def test_several_processes_make_the_updates_of_one(folder):
    """Also in a second training of the same command; the last batch has 2 pairs for 3 processes."""
    settings = {"gradient_accumulation": 2, "loss_normalization": "sentence", "clip_norm": 9}
    settings |= {"batch_size": 33, "log_every": 1, "max_epochs": 1}
    config = without_dropout(reversal_experiment(folder, **settings))
    config = with_optimizer(config, kind="sgd", learning_rate=0.1)  # Adam would enlarge rounding
    one = train(config)
    other = dataclasses.replace(config, output=str(folder / "other"))
    first = reversal_experiment(folder, max_updates=1)
    assert together(3, dataclasses.replace(first, name="first"), other) == [0, 0, 0]
    several = RunFolder(other)
    for mine, theirs in zip(metrics(one), metrics(several), strict=True):
        assert theirs["kind"] == mine["kind"]
        assert theirs["loss"] == pytest.approx(mine["loss"], abs=1e-5)
    torch.testing.assert_close(weights(several), weights(one), atol=1e-4, rtol=1e-4)
    progress = one.record().progress
    assert several.record().progress.target_tokens == progress.target_tokens
    assert (one.record().processes, several.record().processes) == (1, 3)


@pytest.mark.slow
def test_a_signal_or_death_of_one_stops_all_and_nothing_is_lost(folder, caplog):
    """Three processes with dropout: each has random numbers of its own."""
    config = reversal_experiment(
        folder, batch_size=17, gradient_accumulation=2, log_every=3, max_epochs=1, save_minutes=0.0
    )
    assert together(3, config) == [0, 0, 0]
    other = dataclasses.replace(config, output=str(folder / "other"))
    run = RunFolder(other)
    assert together(3, other, event=signalled(signal.SIGINT, 3)) == [130] * 3
    assert run.newest()[0].name == "interim-3"
    assert run.record().status == "interrupted"
    assert together(3, other, event=signalled(signal.SIGKILL, 3)) == [1, 1, -signal.SIGKILL]
    assert run.newest()[0].name in ("interim-4", "interim-5")
    assert together(3, other) == [0, 0, 0]
    assert outcome(run) == outcome(RunFolder(config))
    states = load_checkpoint(run.newest()[0], CPU).rng
    assert states.keys() == {"cpu", "rank-1/cpu", "rank-2/cpu"}
    assert not torch.equal(states["cpu"], states["rank-1/cpu"])
    run.write_record(dataclasses.replace(run.record(), status="running"))
    assert train(other).finished
    assert "processes 1 (was 3)" in caplog.text


@pytest.mark.slow
def test_an_update_that_is_not_finite_in_one_process_is_skipped_in_all(folder):
    config = reversal_experiment(folder, max_epochs=1)
    assert together(2, config, event=spoiled) == [0, 0]
    run = RunFolder(config)
    assert run.record().progress.nonfinite == 1
    assert all(tensor.isfinite().all() for tensor in weights(run).values())


def test_shares_are_equal_but_for_one_item_and_come_back_in_order(monkeypatch):
    for size, count in itertools.product((1, 2, 3, 5), (0, 1, 4, 7, 15)):
        items = list(range(count))
        shares = [items[ProcessGroup(rank, size).share] for rank in range(size)]
        assert max(map(len, shares)) - min(map(len, shares)) <= 1
        assert sorted(itertools.chain(*shares)) == items
        made = [[-item for item in part] for part in shares]
        monkeypatch.setattr(ProcessGroup, "gather", lambda self, value, made=made: made)
        group = ProcessGroup(size - 1, size)
        assert group.map(lambda part: [-item for item in part], items) == [-i for i in items]


def test_gradients_are_summed_where_they_are(monkeypatch):
    """A recorded CUDA graph writes to the memory that a gradient had when it was recorded."""
    used, unused = (torch.nn.Parameter(torch.ones(2, 3)) for _ in range(2))
    used.grad = torch.full((2, 3), 2.0)
    place = used.grad.data_ptr()
    monkeypatch.setattr(distributed.dist, "all_reduce", lambda tensor: tensor.mul_(3))
    ProcessGroup(0, 2).sum_gradients([used, unused])
    assert used.grad.data_ptr() == place
    assert used.grad.unique().tolist() == [6]
    assert unused.grad.unique().tolist() == [0]


def test_processes_that_differ_are_refused(monkeypatch):
    monkeypatch.setattr(ProcessGroup, "gather", lambda self, value: [value, {**value, "seed": 2}])
    with pytest.raises(UserError, match="seed differ"):
        ProcessGroup(0, 2).require_equal({"text": "a", "seed": 1})


@pytest.mark.gpu
@pytest.mark.skipif(torch.cuda.device_count() < 2, reason="needs two CUDA devices")
def test_two_gpus_make_the_updates_of_one(folder):
    config = without_dropout(reversal_experiment(folder, log_every=1, device="cuda"))
    one = train(config)
    other = dataclasses.replace(config, output=str(folder / "other"))
    assert together(2, other) == [0, 0]
    for mine, theirs in zip(metrics(one), metrics(RunFolder(other)), strict=True):
        assert theirs["loss"] == pytest.approx(mine["loss"], abs=1e-5)
