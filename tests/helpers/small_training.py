"""A training in a few seconds, how to disturb it, and what came of it, for tests."""

import itertools
import multiprocessing
import signal
from dataclasses import asdict
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file
from torch.nn import functional

from seq2seq.checkpoint import MODEL
from seq2seq.data.batching import Batch
from seq2seq.data.preparation import prepare
from seq2seq.data.vocabulary import BOS
from seq2seq.interruption import Interrupted
from seq2seq.training.run_folder import RunFolder, codec_folder
from seq2seq.training.trainer import Trainer
from seq2seq.training.trainer import train_run as train

CLOCK = ("seconds", "tokens_per_second")

# Children of a process that has imported all of it already start within milliseconds.
children = multiprocessing.get_context("forkserver")
children.set_forkserver_preload(["helpers.small_training"])


def trainer_of(config) -> Trainer:
    """A training before its first update."""
    return Trainer(
        config, prepare(config.corpus, config.tokenization, Path(config.data), codec_folder(config))
    )


def train_until(config, place: int | tuple[str, int], number: int | None = None) -> RunFolder:
    """Train until a signal comes, or the power goes, before an update of this process.

    A folder's name and an update's number: before this is saved.
    """
    update, save, made = Trainer._update, Trainer._save, itertools.count(1)

    def reach(reached):
        if reached == place:
            if number is None:
                raise KeyboardInterrupt  # which saves nothing
            signal.raise_signal(number)

    def updating(self, batches):
        reach(next(made))
        update(self, batches)

    def saving(self, folder):
        reach((folder.name, self.progress.update))
        save(self, folder)

    stopped = pytest.raises(Interrupted if number else KeyboardInterrupt)
    with stopped, pytest.MonkeyPatch.context() as patch:
        patch.setattr(Trainer, "_update", updating)
        patch.setattr(Trainer, "_save", saving)
        train(config)
    return RunFolder(config)


def weights(run: RunFolder, file: str = MODEL) -> dict[str, torch.Tensor]:
    """The tensors of the newest checkpoint."""
    return load_file(run.newest()[0] / file)


def metrics(run: RunFolder, *kinds: str) -> list[dict]:
    """The entries of these kinds, or all, without what depends on the clock."""
    return [
        {name: value for name, value in entry.items() if name not in CLOCK}
        for entry in run.metrics
        if not kinds or entry["kind"] in kinds
    ]


def content(run: RunFolder) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in run.path.rglob("*") if path.is_file()}


def outcome(run: RunFolder) -> tuple[dict, list[dict], dict]:
    """What equal trainings share: all tensors, metrics and progress, without times."""
    tensors = {
        f"{folder.name}/{file.name}": file.read_bytes()
        for folder in (run.best, run.newest()[0])
        for file in folder.glob("*.safetensors")
    }
    progress = {k: v for k, v in asdict(run.record().progress).items() if k not in CLOCK}
    return tensors, metrics(run), progress


def random_batch(rows: int, width: int = 9, seed: int = 0) -> Batch:
    """Pairs of 1 to ``width`` ids below 11."""
    random = torch.Generator().manual_seed(seed)
    lengths = torch.arange(rows) % width + 1
    inside = torch.arange(width) < lengths[:, None]
    source, output = (
        torch.randint(3, 11, inside.shape, generator=random) * inside for _ in range(2)
    )
    given = functional.pad(output[:, :-1], (1, 0), value=BOS)
    return Batch(source, lengths, given, output, output.flatten().nonzero()[:, 0])
