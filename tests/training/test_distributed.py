"""Several processes that train together end like one, and like one they can be cut short."""

import dataclasses
import itertools
import json
import multiprocessing
import os
import signal
import socket
from pathlib import Path

import numpy as np
import pytest
import torch
from reversal import reversal_experiment, write_reversal_corpus

from seq2seq.checkpoint import load_checkpoint
from seq2seq.config import ExperimentConfig
from seq2seq.data.preparation import prepare
from seq2seq.errors import UserError
from seq2seq.training.distributed import ALONE, Ranks, joined
from seq2seq.training.run_folder import RunFolder
from seq2seq.training.trainer import Trainer
from seq2seq.training.updater import Updater

CLOCK = ("seconds", "tokens_per_second", "waiting_for_data")

# Children of a process that has imported all of it already start within milliseconds.
context = multiprocessing.get_context("forkserver")
context.set_forkserver_preload(["seq2seq.training.trainer", "test_distributed"])


def train(config: ExperimentConfig, ranks: Ranks = ALONE) -> RunFolder:
    torch.set_num_threads(1)
    data = prepare(config.corpus, config.tokenization, Path(config.data))
    return Trainer(config, data, ranks).run()


def sitting(
    config: ExperimentConfig, rank: int, size: int, port: int, number: int | None, update: int
) -> None:
    """What one process does; the last of them gets signal ``number`` in the given update."""
    os.environ |= {"RANK": str(rank), "WORLD_SIZE": str(size), "LOCAL_RANK": str(rank)}
    os.environ |= {"MASTER_ADDR": "localhost", "MASTER_PORT": str(port)}
    if number is not None and rank == size - 1:
        original, made = Updater.update, itertools.count(1)

        def stopping(self, batches, tokens):
            if next(made) == update:
                signal.raise_signal(number)
            return original(self, batches, tokens)

        Updater.update = stopping
    try:
        with joined("cpu") as ranks:
            train(config, ranks)
    except UserError as error:
        raise SystemExit(f"error: {error}") from None


def together(
    config: ExperimentConfig, size: int, number: int | None = None, update: int = 0
) -> list[int | None]:
    """Train in ``size`` processes; their exit statuses."""
    with socket.socket() as free:
        free.bind(("localhost", 0))
        port = free.getsockname()[1]
    children = [
        context.Process(target=sitting, args=(config, rank, size, port, number, update))
        for rank in range(size)
    ]
    for child in children:
        child.start()
    for child in children:
        child.join(60)
    return [child.exitcode for child in children]


def weights(run: RunFolder) -> dict[str, torch.Tensor]:
    checkpoint = load_checkpoint(run.newest()[0], torch.device("cpu"))
    return {**checkpoint.model.state_dict(), **checkpoint.rng}


def metrics(run: RunFolder) -> list[dict]:
    entries = [json.loads(line) for line in (run.path / "metrics.jsonl").read_text().splitlines()]
    return [{k: v for k, v in entry.items() if k not in CLOCK} for entry in entries]


def at(config: ExperimentConfig, output: Path, dropout: float = 0.1) -> ExperimentConfig:
    model = dataclasses.replace(config.model, dropout=dropout)
    return dataclasses.replace(config, output=str(output), model=model)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_reversal_corpus(tmp_path / "corpus")
    return tmp_path
