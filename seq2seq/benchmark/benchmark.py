"""The stage ``benchmark``: how fast training is, by several paths to the same update."""

import logging
from collections.abc import Iterator
from pathlib import Path

import torch

from seq2seq.benchmark.measure import product_rate, time_in_turns
from seq2seq.benchmark.memory import measure_memory
from seq2seq.benchmark.paths import PATHS, Workload
from seq2seq.benchmark.report import Benchmark, PathTimes
from seq2seq.benchmark.shares import staged_update
from seq2seq.benchmark.sizes import SIZES
from seq2seq.config import BenchmarkConfig, require_choice
from seq2seq.device import choose_device
from seq2seq.record import environment_record

log = logging.getLogger(__name__)

STAGED = 3
"""Updates that are cut into stages at least: one alone may be an outlier."""


def benchmark(config: BenchmarkConfig) -> Iterator[Benchmark]:
    """Measure and write one size after the other, each handed over when it is done.

    Raises:
        UserError: a size, a path or the device does not exist.
    """
    for size in config.sizes:
        require_choice("sizes", size, tuple(SIZES))
    for path in config.paths:
        require_choice("paths", path, tuple(PATHS))
    device = choose_device(config.device)
    if config.threads is not None:
        torch.set_num_threads(config.threads)
    for size in config.sizes:
        measured = _measure(size, config, device)
        table = measured.write(Path(config.output))
        log.info("Table and timings: %s, %s", table, table.with_suffix(".json"))
        yield measured


def _measure(size: str, config: BenchmarkConfig, device: torch.device) -> Benchmark:
    """Memory first, while this process holds little; then times; then the stages."""
    workload = Workload(SIZES[size], config.attention, config.seed, device)
    log.info("Size %s: %s", size, ", ".join(config.paths))
    memory = {path: measure_memory(path, workload) for path in config.paths}
    started = {path: PATHS[path].start(workload) for path in config.paths}
    rounds = time_in_turns(
        {path: training.update for path, training in started.items()},
        config.updates,
        config.alternations,
        device,
    )
    paths = [
        PathTimes(
            name=name,
            precision="bf16" if training.precision == torch.bfloat16 else "fp32",
            kernels=training.kernel_name,
            rounds=rounds[name],
            stages=[staged_update(training) for _ in range(max(config.updates, STAGED))],
            memory=memory[name],
        )
        for name, training in started.items()
    ]
    return Benchmark(
        name=_name(size, config.attention, device),
        size=workload.size,
        attention=config.attention,
        seed=config.seed,
        paths=paths,
        product_rates={
            name: product_rate(device, precision)
            for name, precision in (("fp32", torch.float32), ("bf16", torch.bfloat16))
            if any(path.precision == name for path in paths)
        },
        environment=environment_record(device),
    )


def _name(size: str, attention: str, device: torch.device) -> str:
    """The size, and what is not the usual case: ``m``, ``l-cuda``, ``m-fixed``."""
    parts = [size]
    parts += [] if attention == "additive" else [attention]
    parts += [] if device.type == "cpu" else [device.type]
    return "-".join(parts)
