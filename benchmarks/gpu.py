"""Checks and speeds of one GPU, in one call of a few minutes.

python benchmarks/gpu.py output=FOLDER minutes=8

Each step has a process and a time limit of its own: one that crashes, hangs or runs out of memory
costs the others nothing. All steps but speed and search run side by side; these follow in turn.
FOLDER/gpu.json and the table FOLDER/gpu.md have the results, outcome and seconds of each step, and
the last lines of one that failed. They are written again as the steps end. All lines are in
FOLDER/<step>.log.
"""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any
from unittest.mock import patch
from xml.etree import ElementTree

import torch
from harness import compose_config, main, write_results
from measure import run_within
from omegaconf import DictConfig
from processes import TRAIN, tokens_per_second
from training import benchmark_training
from translation import benchmark_translation

from seq2seq.api import evaluate, train
from seq2seq.checkpoint import load_checkpoint
from seq2seq.device import choose_device
from seq2seq.files import write_json
from seq2seq.interruption import Interrupted
from seq2seq.model.fast.compiled import choose_operations
from seq2seq.record import environment_record
from seq2seq.training.run_folder import RunFolder
from seq2seq.training.trainer import Trainer

Found = dict[str, Any]
ROOT, CPU = TRAIN.parents[1], torch.device("cpu")


def benchmark_gpu(config: DictConfig) -> Path:
    """Make all steps of ``configs/gpu.yaml``, or only ``config.step``; return the results' path."""
    if config.step:
        return make_step(config)
    end, page = time.monotonic() + 60 * config.minutes, Path(config.output) / "gpu"
    page.parent.mkdir(parents=True, exist_ok=True)
    runs: dict[str, Found] = {}
    with TemporaryDirectory(prefix="gpu-", ignore_cleanup_errors=True) as work:

        def run(name: str) -> None:
            path, seconds = Path(work) / f"{name}.json", config.limits[name]
            seconds = min(seconds, end - time.monotonic())
            command = [sys.executable, __file__, *sys.argv[1:], f"output={work}", f"step={name}"]
            made = {"step": name, **run_within(command, seconds, page.with_name(f"{name}.log"))}
            runs[name] = {**made, "found": json.loads(path.read_text()) if path.exists() else {}}

        untimed = [name for name in config.limits if name.partition("-")[0] not in TIMED]
        if untimed:
            with ThreadPoolExecutor(len(untimed)) as pool:
                list(pool.map(run, untimed))
            _write(page, runs, config)
        for name in config.limits:
            if name not in untimed:
                run(name)
                _write(page, runs, config)
    return page.with_suffix(".md")


def _write(page: Path, runs: dict[str, Found], config: DictConfig) -> None:
    rows, ordered = [], [runs[name] for name in config.limits if name in runs]
    for run in ordered:
        end_of = {} if run["outcome"] == "done" else {"": "".join(run["last_lines"][-1:])}
        for key, value in {**run["found"], **end_of}.items():
            row = {"step": run["step"], "outcome": run["outcome"], "seconds": str(run["seconds"])}
            if not isinstance(value, list | dict):
                rows.append({**row, "found": key, "value": str(value)[:150]})
    write_results(page, "One GPU", rows, [], ordered, CPU)  # CUDA is left to the steps


def make_step(config: DictConfig) -> Path:
    """Make one step in this process; return its file, which always has what was found so far."""
    kind, _, size = config.step.partition("-")
    path, found = Path(config.output) / f"{config.step}.json", Found()
    for more in STEPS[kind](config, *filter(None, [size])):
        found |= more
        write_json(path, found)
    return path


def facts(config: DictConfig) -> Iterator[Found]:
    """Machine, card, driver and versions; the kernels that pass their tests on this device."""
    device = choose_device(config.device)
    hardware = environment_record(device)["hardware"]
    yield {"hardware": hardware, "card": hardware.gpu, "cuDNN": torch.backends.cudnn.version()}
    yield {"nvidia-smi": subprocess.getoutput("nvidia-smi").splitlines()}
    for dtype in (torch.float32, torch.bfloat16):
        yield {f"kernels for {dtype}": choose_operations(device, dtype).name}
    if device.type == "cuda":
        from seq2seq.model.fast.gpu import TritonOperations  # only Linux has Triton

        TritonOperations()  # choose_operations only logs an error; here it is shown whole


def tests(config: DictConfig) -> Iterator[Found]:
    """Run the tests marked ``gpu``, and count them. Without a GPU, they are skipped."""
    files = sorted((ROOT / "tests").rglob("test_*.py"))
    marked = [str(file) for file in files if "mark.gpu" in file.read_text("utf-8")]
    report = Path(config.output) / "tests.xml"
    command = [sys.executable, "-m", "pytest", "-m", "gpu", "-v", "--tb=short", "-W", "default"]
    command += [f"--junitxml={report}", *marked]
    environment = {**os.environ, "TRITON_INTERPRET": "0"}
    status = subprocess.run(command, cwd=ROOT, env=environment).returncode
    for suite in ElementTree.parse(report).iter("testsuite"):
        yield {key: suite.get(key) for key in ("tests", "failures", "errors", "skipped")}
    sys.exit(status)


def quickstart(config: DictConfig, name: str, updates: int, *settings: str) -> RunFolder:
    """Train the quickstart's model on its grammar, in the folder ``name``."""
    own = [f"data={config.output}/data", f"output={config.output}/{name}"]
    own += [f"training.max_updates={updates}", f"training.device={config.device}"]
    return train("experiment=quickstart", *config.settings, *own, *settings)


def equality(config: DictConfig) -> Iterator[Found]:
    """Largest relative difference between the losses of updates on the device and on the CPU."""
    losses: list[list[float]] = []
    for device, precision in (("cpu", "fp32"), (config.device, "fp32"), (config.device, "bf16")):
        own = [f"training.device={device}", f"training.precision={precision}"]
        every = "training.log_every=1"
        made = quickstart(config, f"{device}-{precision}", config.updates, every, *own)
        losses.append([entry["loss"] for entry in made.metrics if entry["kind"] == "train"])
        unlike = max(abs(one / cpu - 1) for one, cpu in zip(losses[-1], losses[0], strict=True))
        yield {f"{device}, {precision}, {made.record().kernels}": f"{unlike:.1e}", "losses": losses}


def resuming(config: DictConfig) -> Iterator[Found]:
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
    yield {"weights": len(ends[0]), "unlike": len(unlike), "names of these": unlike}


def translation(config: DictConfig) -> Iterator[Found]:
    """Train a model; compare its translations on the device with those on the CPU."""
    made = quickstart(config, "translation", config.train_updates)
    speeds = [entry["tokens_per_second"] for entry in made.metrics if entry["kind"] == "train"]
    yield {"training, target tokens/s": round(median(speeds)), "dev loss": made.best_metric}
    texts: dict[str, list[str]] = {}
    for device, precision in (("cpu", "fp32"), (config.device, "fp32"), (config.device, "bf16")):
        own = [f"checkpoint={made.path}", f"device={device}", f"precision={precision}"]
        own += [f"data={config.output}/data", f"output={config.output}/{device}-{precision}"]
        for found in evaluate(*own, "beams=[1,5]"):
            lines, key = found.texts.hypotheses, str(found.record.search)
            same = sum(map(str.__eq__, lines, texts.setdefault(key, lines)))
            score = f"{same} of {len(lines)} equal, BLEU {found.overall.bleu:.1f}"
            yield {f"{device}, {precision}, {key}": score}


def speed(config: DictConfig, size: str) -> Iterator[Found]:
    """``training.py`` at this size: plain PyTorch first, as Triton's kernels may crash or hang."""
    for paths in ("plain,plain-bf16,fast-torch", "fast-fp32,fast-calls,fast"):
        given = [f"sizes=[{size}]", f"paths=[{paths}]", f"updates={config.timed}"]
        yield {paths: (runs := _runs(benchmark_training, config, *given))}
        for run in runs:
            key, seconds = f"{run['path']} ({run['kernels']})", run["median_seconds"]
            pace = f"{1e3 * seconds:.2f} ms, {run['target_tokens'] / seconds:,.0f} target tokens/s"
            yield {key: f"{pace}, {run['peak_megabytes']:,.0f} MB"}


def search(config: DictConfig) -> Iterator[Found]:
    """``translation.py`` with the model of the step translation."""
    model = f"checkpoint={config.output}/translation/quickstart/attention/seed-1"
    given = [model, f"data={config.output}/data", "most_batches=20", "rounds=3"]
    yield {"runs": (runs := _runs(benchmark_translation, config, *given))}
    for run in runs:
        pace = f"{run['sentences'] / median(run['seconds']):,.1f} sentences/s"
        yield {f"beam {run['beam']}, batch {run['batch_size']}": pace}


def _runs(benchmark: Callable[[DictConfig], Path], config: DictConfig, *given: str) -> list[Any]:
    given += (f"device={config.device}", f"output={config.output}")
    page = benchmark(compose_config(benchmark.__name__.removeprefix("benchmark_"), given))
    return json.loads(page.with_suffix(".json").read_text("utf-8"))["runs"]


def sharing(config: DictConfig) -> Iterator[Found]:
    """Two processes of one training; they are refused where there is only one GPU."""
    settings = ["experiment=quickstart", *config.settings, f"data={config.output}/data"]
    given = [f"settings={settings}", f"device={config.device}", "updates=20"]
    pace = tokens_per_second(compose_config("processes", given), processes=2, threads=4)
    yield {"target tokens/s": round(pace)}


ALL = (facts, tests, equality, resuming, translation, speed, search, sharing)
TIMED = ("speed", "search")
STEPS: dict[str, Callable[..., Iterator[Found]]] = {step.__name__: step for step in ALL}

if __name__ == "__main__":
    main("gpu", benchmark_gpu)
