"""A training in a few seconds, and what came of it, for tests."""

import itertools
import json
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from seq2seq.checkpoint import UNAVERAGED, load_checkpoint
from seq2seq.data.preparation import prepare
from seq2seq.distributed import SINGLE
from seq2seq.training.run_folder import RunFolder, codec_folder
from seq2seq.training.trainer import Trainer

CPU = torch.device("cpu")
CLOCK = ("seconds", "tokens_per_second")


def train(config, group=SINGLE):
    data = prepare(config.corpus, config.tokenization, Path(config.data), codec_folder(config))
    return Trainer(config, data, group).run()


def before_update(which: int, event: Callable[[], object]) -> pytest.MonkeyPatch:
    """Call ``event`` just before update ``which`` of this process; return the patch."""
    run, made, patch = Trainer._update, itertools.count(1), pytest.MonkeyPatch()

    def disturbed(self, batches):
        if next(made) == which:
            event()
        return run(self, batches)

    patch.setattr(Trainer, "_update", disturbed)
    return patch


def train_until(config, update: int, event: Callable[[], object], error: type[BaseException]):
    """Train until ``event``, before ``update``, raises; return the run folder and the error."""
    patch = before_update(update, event)
    with pytest.raises(error) as ending:
        train(config)
    patch.undo()
    return RunFolder(config), ending.value


def weights(run) -> dict[str, torch.Tensor]:
    return load_checkpoint(run.newest()[0], CPU).model.state_dict()


def metrics(run) -> list[dict]:
    """All entries without what depends on the clock."""
    entries = [json.loads(line) for line in (run.path / "metrics.jsonl").read_text().splitlines()]
    return [{k: v for k, v in entry.items() if k not in CLOCK} for entry in entries]


def outcome(run) -> tuple[dict, list[dict], dict]:
    """What equal trainings share: checkpoints, metrics and progress, without times."""
    tensors = {}
    for folder in (run.best, run.newest()[0]):
        found = load_checkpoint(folder, CPU)
        unaveraged = folder / UNAVERAGED
        others = load_file(unaveraged) if unaveraged.exists() else {}
        for name, tensor in {**found.model.state_dict(), **found.rng, **others}.items():
            tensors[f"{folder.name}: {name}"] = tensor.numpy().tobytes()
    progress = {k: v for k, v in asdict(run.record().progress).items() if k not in CLOCK}
    return tensors, metrics(run), progress
