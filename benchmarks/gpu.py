"""Whether a GPU computes what the CPU computes, in a few minutes.

python benchmarks/gpu.py output=FOLDER

Each step has a process of its own: one that crashes costs the others nothing. FOLDER/gpu.md is
written again after each.
"""

import contextlib
import logging
import multiprocessing
import signal
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from statistics import median
from typing import Any
from unittest.mock import patch

import torch
from harness import main, write_results
from omegaconf import DictConfig

from seq2seq.api import evaluate, train
from seq2seq.checkpoint import load_checkpoint
from seq2seq.config import require_choice
from seq2seq.device import choose_device
from seq2seq.interruption import Interrupted
from seq2seq.model.fast.compiled import choose_operations
from seq2seq.record import environment_record
from seq2seq.training.run_folder import RunFolder
from seq2seq.training.trainer import Trainer

log = logging.getLogger(__name__)

Found = dict[str, Any]
CPU = torch.device("cpu")


def benchmark_gpu(config: DictConfig) -> Path:
    """Make the steps of ``configs/gpu.yaml``; return the path of the table."""
    for step in config.steps:
        require_choice("steps", step, tuple(STEPS))
    runs: list[Found] = []
    for step in config.steps:
        log.info("%s", step)
        with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
            try:
                found = pool.submit(STEPS[step], config).result()
            except Exception as error:
                found = {"error": f"{type(error).__name__}: {error}"}
        runs.append({"step": step, "found": found})
        rows = [
            {"step": run["step"], "found": key, "value": str(value)}
            for run in runs
            for key, value in run["found"].items()
        ]
        path = Path(config.output) / "gpu"
        page = write_results(path, "One GPU", rows, [], runs, CPU)  # CUDA is left to the steps
    return page


def facts(config: DictConfig) -> Found:
    """Card and versions; the kernels that pass their tests on this device."""
    device = choose_device(config.device)
    found: Found = {"card": environment_record(device)["hardware"].gpu}
    found["cuDNN"] = torch.backends.cudnn.version()
    for dtype in (torch.float32, torch.bfloat16):
        found[f"kernels for {dtype}"] = choose_operations(device, dtype).name
    if device.type == "cuda":
        from seq2seq.model.fast.gpu import TritonOperations  # only Linux has Triton

        TritonOperations()  # choose_operations only logs an error; here it is shown whole
    return found


def quickstart(config: DictConfig, name: str, updates: int, *settings: str) -> RunFolder:
    """Train the quickstart's model on its grammar, in the folder ``name``."""
    own = [f"data={config.output}/data", f"output={config.output}/{name}"]
    own += [f"training.max_updates={updates}", f"training.device={config.device}"]
    return train("experiment=quickstart", *config.settings, *own, *settings)


def precisions(config: DictConfig) -> list[tuple[str, str]]:
    """Devices and precisions to compare; the first pair is what the others should equal."""
    return [("cpu", "fp32"), (config.device, "fp32"), (config.device, "bf16")]


def equality(config: DictConfig) -> Found:
    """Largest relative difference between the losses of updates on the device and on the CPU."""
    found, expected = Found(), list[float]()
    for device, precision in precisions(config):
        own = [f"training.device={device}", f"training.precision={precision}"]
        every = "training.log_every=1"
        made = quickstart(config, f"{device}-{precision}", config.updates, every, *own)
        losses = [entry["loss"] for entry in made.metrics if entry["kind"] == "train"]
        expected = expected or losses
        unlike = max(abs(one / cpu - 1) for one, cpu in zip(losses, expected, strict=True))
        found[f"{device}, {precision}, {made.record().kernels}"] = f"{unlike:.1e}"
    return found


def resuming(config: DictConfig) -> Found:
    """Whether a training ends with equal weights if it stops after 10 of 20 updates and resumes."""
    own = (20, "training.deterministic=true", "model.dropout=0.1")
    whole, update = quickstart(config, "whole", *own), Trainer._update

    def stopping(trainer: Trainer, batches: list[Any]) -> None:
        update(trainer, batches)
        if trainer.progress.update == 10:
            signal.raise_signal(signal.SIGTERM)

    with patch.object(Trainer, "_update", stopping), contextlib.suppress(Interrupted):
        raise RuntimeError(f"{quickstart(config, 'parts', *own).path} was not stopped")
    parts = quickstart(config, "parts", *own)
    ends = [load_checkpoint(run.newest()[0], CPU).model.state_dict() for run in (whole, parts)]
    unlike = [name for name, weight in ends[0].items() if not torch.equal(weight, ends[1][name])]
    return {"weights": len(ends[0]), "unlike": len(unlike), "names of these": ", ".join(unlike)}


def translation(config: DictConfig) -> Found:
    """Train a model; compare its translations on the device with those on the CPU."""
    made = quickstart(config, "translation", config.train_updates)
    speeds = [entry["tokens_per_second"] for entry in made.metrics if entry["kind"] == "train"]
    found: Found = {"training, target tokens/s": round(median(speeds))}
    found["dev loss"] = made.best_metric
    texts: dict[str, list[str]] = {}
    for device, precision in precisions(config):
        own = [f"checkpoint={made.path}", f"device={device}", f"precision={precision}"]
        own += [f"data={config.output}/data", f"output={config.output}/{device}-{precision}"]
        for one in evaluate(*own, "beams=[1,5]"):
            lines, key = one.texts.hypotheses, str(one.record.search)
            same = sum(map(str.__eq__, lines, texts.setdefault(key, lines)))
            score = f"{same} of {len(lines)} equal, BLEU {one.overall.bleu:.1f}"
            found[f"{device}, {precision}, {key}"] = score
    return found


ALL = (facts, equality, resuming, translation)
STEPS: dict[str, Callable[[DictConfig], Found]] = {step.__name__: step for step in ALL}

if __name__ == "__main__":
    main("gpu", benchmark_gpu)
