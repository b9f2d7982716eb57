"""A training killed at any moment, and continued, ends like one that never was: bit by bit."""

import dataclasses
import itertools
import json
import multiprocessing
import os
import random
import signal
import sys
import time
from pathlib import Path

import pytest
import torch
from reversal import reversal_experiment, write_reversal_corpus

from seq2seq.checkpoint import load_checkpoint
from seq2seq.config import ExperimentConfig
from seq2seq.data.preparation import prepare
from seq2seq.training.run_folder import RunFolder
from seq2seq.training.trainer import Trainer

KILLS = 12
"""Of each kind: at a file operation, and at a moment in time."""
CLOCK = ("seconds", "tokens_per_second", "waiting_for_data")

# Children of a process that has imported all of it already start within milliseconds.
context = multiprocessing.get_context("forkserver")
context.set_forkserver_preload(["seq2seq.training.trainer", "test_resume"])


def train(config: ExperimentConfig) -> RunFolder:
    torch.set_num_threads(1)
    data = prepare(config.corpus, config.tokenization, Path(config.data))
    return Trainer(config, data).run()


def train_until(config: ExperimentConfig, fatal: int | None) -> None:
    """Train, but die like by a power cut at the ``fatal``-th file operation of the run."""
    if fatal is not None:
        folder, seen = str(RunFolder(config).path), itertools.count(1)

        def watch(event: str, arguments: tuple[object, ...]) -> None:
            of_files = event == "open" or event.startswith(("os.", "shutil."))
            if of_files and folder in str(arguments[:2]) and next(seen) == fatal:
                os.kill(os.getpid(), signal.SIGKILL)

        sys.addaudithook(watch)
    train(config)


def sitting(config: ExperimentConfig, fatal: int | None, seconds: float | None) -> bool:
    """One attempt at the training, cut off in one of two ways; False where it was."""
    child = context.Process(target=train_until, args=(config, fatal))
    child.start()
    if seconds is not None:
        time.sleep(seconds)
        child.kill()
    child.join()
    assert child.exitcode in (0, -signal.SIGKILL)
    return child.exitcode == 0


def outcome(run: RunFolder) -> tuple[list, list[dict], dict]:
    """All that must be the same: checkpoints, metrics, progress; not what the clock says."""
    tensors = []
    for folder in (run.best, run.newest()[0]):
        found = load_checkpoint(folder, torch.device("cpu"))
        tensors += sorted({**found.model.state_dict(), **found.rng}.items())
    entries = [json.loads(line) for line in (run.path / "metrics.jsonl").read_text().splitlines()]
    progress = {k: v for k, v in run.record()["progress"].items() if k not in CLOCK}
    return tensors, [{k: v for k, v in e.items() if k not in CLOCK} for e in entries], progress


@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_killed_at_any_moment_and_continued(tmp_path, precision):
    write_reversal_corpus(tmp_path / "corpus")
    config = reversal_experiment(
        tmp_path,
        precision=precision,
        gradient_accumulation=2,
        log_every=3,
        validate_every=4,
        max_epochs=2,
        save_minutes=0.0,  # after every update
    )
    expected = outcome(train(config))
    chance = random.Random(precision)
    start = time.monotonic()
    assert sitting(dataclasses.replace(config, output=str(tmp_path / "timed")), None, None)
    whole = time.monotonic() - start

    left = {"operation": KILLS, "moment": KILLS}
    for attempt in itertools.count():
        again = dataclasses.replace(config, output=str(tmp_path / f"attempt-{attempt}"))
        finished = False
        while not finished:
            kind = max(left, key=left.__getitem__)
            if left[kind] == 0:
                finished = sitting(again, None, None)
            elif kind == "operation":
                finished = sitting(again, chance.randint(1, 100), None)
            else:
                finished = sitting(again, None, chance.uniform(0.1, 0.8) * whole)
            left[kind] -= not finished
        found = outcome(RunFolder(again))
        assert all(
            name == other and torch.equal(tensor, same)
            for (name, tensor), (other, same) in zip(expected[0], found[0], strict=True)
        )
        assert found[1:] == expected[1:]
        if not any(left.values()):
            return
