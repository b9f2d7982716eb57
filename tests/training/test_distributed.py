"""Several processes that train together end like one, and like one they can be cut short."""

import dataclasses
import functools
import itertools
import math
import multiprocessing
import os
import signal
import socket
import time
from collections.abc import Callable
from typing import Any

import pytest
import torch
from helpers.reversal import reversal_experiment, with_optimizer, without_dropout
from helpers.small_training import before_update, metrics, outcome, train, weights

from seq2seq import distributed
from seq2seq.checkpoint import load_checkpoint
from seq2seq.config import TrainConfig
from seq2seq.distributed import ProcessGroup, process_group
from seq2seq.errors import UserError
from seq2seq.interruption import Interrupted
from seq2seq.training import loss as losses
from seq2seq.training.loss import batch_loss
from seq2seq.training.run_folder import RunFolder

Event = Callable[[], None]
PER_SENTENCE = {"loss_normalization": "sentence", "clip_norm": 9}

# Children of a process that has imported all of it already start within milliseconds.
context = multiprocessing.get_context("forkserver")
context.set_forkserver_preload(["seq2seq.training.trainer", "test_distributed"])


def launched(rank: int, size: int, port: int) -> None:
    os.environ |= {"RANK": str(rank), "WORLD_SIZE": str(size), "LOCAL_RANK": str(rank)}
    os.environ |= {"MASTER_ADDR": "localhost", "MASTER_PORT": str(port)}
    torch.set_num_threads(1)


def several_groups(rank: int, size: int, port: int):
    """Be in one group after the other, as in a multirun; the first process comes later."""
    launched(rank, size, port)
    for _ in range(3):
        with process_group("cpu") as group:
            assert group.maximum(rank) == [size - 1]
        time.sleep(1 - rank)


def rank_main(rank: int, size: int, port: int, config: TrainConfig, event: Event | None):
    """What one of ``size`` processes does; to the last of them something happens."""
    launched(rank, size, port)
    if event is not None and rank == size - 1:
        event()
    try:
        with process_group(config.training.device) as group:
            train(config, group)
    except (UserError, Interrupted) as error:
        raise SystemExit(getattr(error, "status", 1)) from None


def together(config: TrainConfig, size: int, event: Event | None = None) -> list[int | None]:
    """Train in ``size`` processes; their exit statuses."""
    return statuses(rank_main, size, config, event)


def statuses(main: Callable[..., None], size: int, *given: Any) -> list[int | None]:
    """Run ``main`` in ``size`` processes; their exit statuses."""
    with socket.socket() as free:
        free.bind(("localhost", 0))
        port = free.getsockname()[1]
    children = [
        context.Process(target=main, args=(rank, size, port, *given)) for rank in range(size)
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

    losses.batch_loss = spoiling


@pytest.mark.slow
@pytest.mark.parametrize(
    ("size", "kind", "settings"),
    [
        (2, "fixed", {"gradient_accumulation": 2, **PER_SENTENCE}),
        (3, "additive", {}),  # the last batch has 2 pairs
    ],
)
def test_several_processes_make_the_updates_of_one(folder, size, kind, settings):
    settings = {"batch_size": 33, "log_every": 1, "max_epochs": 1, **settings}
    config = without_dropout(reversal_experiment(folder, kind, **settings))
    config = with_optimizer(config, kind="sgd", learning_rate=0.1)  # Adam would enlarge rounding
    one = train(config)
    other = dataclasses.replace(config, output=str(folder / "other"))
    assert together(other, size) == [0] * size
    several = RunFolder(other)
    for mine, theirs in zip(metrics(one), metrics(several), strict=True):
        assert theirs["kind"] == mine["kind"]
        assert theirs["loss"] == pytest.approx(mine["loss"], abs=1e-5)
    torch.testing.assert_close(weights(several), weights(one), atol=1e-4, rtol=1e-4)
    progress = one.record().progress
    assert several.record().progress.target_tokens == progress.target_tokens
    assert (one.record().processes, several.record().processes) == (1, size)


@pytest.mark.slow
def test_a_signal_or_death_of_one_stops_all_and_nothing_is_lost(folder, caplog):
    """Three processes with dropout: each has random numbers of its own."""
    config = reversal_experiment(
        folder, batch_size=17, gradient_accumulation=2, log_every=3, max_epochs=1, save_minutes=0.0
    )
    assert together(config, 3) == [0, 0, 0]
    other = dataclasses.replace(config, output=str(folder / "other"))
    run = RunFolder(other)
    assert together(other, 3, signalled(signal.SIGINT, 3)) == [130] * 3
    assert run.newest()[0].name == "interim-3"
    assert run.record().status == "interrupted"
    assert together(other, 3, signalled(signal.SIGKILL, 3)) == [1, 1, -signal.SIGKILL]
    assert run.newest()[0].name in ("interim-4", "interim-5")
    assert together(other, 3) == [0, 0, 0]
    assert outcome(run) == outcome(RunFolder(config))
    states = load_checkpoint(run.newest()[0], torch.device("cpu")).rng
    assert states.keys() == {"cpu", "rank-1/cpu", "rank-2/cpu"}
    assert not torch.equal(states["cpu"], states["rank-1/cpu"])
    run.write_record(dataclasses.replace(run.record(), status="running"))
    assert train(other).finished
    assert "processes 1 (was 3)" in caplog.text


@pytest.mark.slow
def test_an_update_that_is_not_finite_in_one_process_is_skipped_in_all(folder):
    config = reversal_experiment(folder, max_epochs=1)
    assert together(config, 2, spoiled) == [0, 0]
    run = RunFolder(config)
    assert run.record().progress.nonfinite == 1
    assert all(tensor.isfinite().all() for tensor in weights(run).values())


def test_shares_are_equal_but_for_one_item_and_come_back_in_order():
    for size, count in itertools.product((1, 2, 3, 5), (0, 1, 4, 7, 15)):
        items = list(range(count))
        shares = [items[ProcessGroup(rank, size).share] for rank in range(size)]
        assert max(map(len, shares)) - min(map(len, shares)) <= 1
        assert sorted(itertools.chain(*shares)) == items
        group = ProcessGroup(size - 1, size)
        group.gather = lambda value, shares=shares: [[-item for item in part] for part in shares]
        assert group.map(lambda part: [-item for item in part], items) == [-i for i in items]


def test_gradients_are_summed_where_they_are(monkeypatch):
    """A recorded CUDA graph writes to the memory that a gradient had when it was recorded."""
    monkeypatch.setattr(distributed.dist, "all_reduce", lambda summed: summed.mul_(2))
    used, unused = (torch.nn.Parameter(torch.ones(2, 3)) for _ in range(2))
    (3 * used).sum().backward()
    place = used.grad.data_ptr()
    ProcessGroup(0, 2).sum_gradients([used, unused])
    assert used.grad.data_ptr() == place
    assert used.grad.unique().tolist() == [6]
    assert unused.grad.unique().tolist() == [0]


@pytest.mark.slow
def test_processes_can_work_together_again():
    assert statuses(several_groups, 2) == [0, 0]


def test_processes_that_differ_are_refused():
    group = ProcessGroup(0, 2)
    group.gather = lambda value: [value, {**value, "seed": 2}]
    group.require_equal({"text": "a"})
    with pytest.raises(UserError, match="seed is 1 in process 0 and 2 in process 1"):
        group.require_equal({"text": "a", "seed": 1})


def test_each_process_takes_a_gpu_of_its_own(monkeypatch):
    taken = []
    monkeypatch.setattr(distributed, "choose_device", lambda name: torch.device("cuda"))
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    monkeypatch.setattr(torch.cuda, "set_device", taken.append)
    monkeypatch.setenv("LOCAL_RANK", "1")
    monkeypatch.delenv("LOCAL_WORLD_SIZE", raising=False)
    distributed._take_device("auto")  # a launcher may show each process its own GPU alone
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 4)
    distributed._take_device("auto")
    assert taken == [0, 1]
    monkeypatch.setenv("LOCAL_WORLD_SIZE", "5")
    with pytest.raises(UserError, match=r"5 processes .* 4 GPUs"):
        distributed._take_device("auto")


@pytest.mark.parametrize(
    ("ending", "seen", "leaves"),
    [
        (Interrupted(signal.SIGTERM, "Stopped."), SystemExit, True),
        (torch.OutOfMemoryError("CUDA out of memory."), torch.OutOfMemoryError, False),
        (RuntimeError("[gloo/transport] connection closed"), UserError, False),
    ],
)
def test_a_process_that_fails_alone_leaves_without_the_others(monkeypatch, ending, seen, leaves):
    left = []
    monkeypatch.setenv("WORLD_SIZE", "2")
    monkeypatch.setenv("RANK", "1")
    monkeypatch.setattr(distributed, "_take_device", lambda name: torch.device("cuda"))
    monkeypatch.setattr(distributed, "_store", distributed.dist.HashStore)
    monkeypatch.setattr(distributed, "claim_report", lambda: True)
    monkeypatch.setattr(distributed.dist, "init_process_group", lambda *_, **__: None)
    monkeypatch.setattr(distributed.dist, "is_initialized", lambda: True)
    monkeypatch.setattr(distributed.dist, "destroy_process_group", lambda: left.append(True))
    with pytest.raises(seen), process_group("auto"):
        raise ending
    assert left == [True] * leaves


@pytest.mark.gpu
@pytest.mark.skipif(torch.cuda.device_count() < 2, reason="needs two CUDA devices")
def test_two_gpus_make_the_updates_of_one(folder):
    config = without_dropout(reversal_experiment(folder, log_every=1, device="cuda"))
    one = train(config)
    other = dataclasses.replace(config, output=str(folder / "other"))
    assert together(other, 2) == [0, 0]
    for mine, theirs in zip(metrics(one), metrics(RunFolder(other)), strict=True):
        assert theirs["loss"] == pytest.approx(mine["loss"], abs=1e-5)


def test_the_sigterm_of_torchrun_does_not_end_the_process_that_reports(monkeypatch):
    monkeypatch.setenv("WORLD_SIZE", "2")
    monkeypatch.setenv("RANK", "1")
    monkeypatch.setenv("TORCHELASTIC_RUN_ID", "none")
    store = distributed.dist.HashStore()
    monkeypatch.setattr(distributed, "_store", lambda: store)
    before = signal.getsignal(signal.SIGTERM)
    try:
        assert distributed.claim_report()
        os.kill(os.getpid(), signal.SIGTERM)
        assert distributed.claim_report()  # it still lives, and is still the one
        monkeypatch.setenv("RANK", "0")
        assert not distributed.claim_report()
    finally:
        signal.signal(signal.SIGTERM, before)
