"""Speed of one training by several processes, by their number and their threads.

python benchmarks/processes.py 'processes=[1,2]' 'threads_each=[1,2]'
"""

import json
import os
import subprocess
import sys
import tempfile
from itertools import product
from pathlib import Path
from statistics import median

from harness import main, write_results
from measure import ratio_by_round
from omegaconf import DictConfig

from seq2seq.device import choose_device
from seq2seq.errors import UserError

TRAIN = Path(__file__).resolve().parent.parent / "scripts" / "train.py"


def benchmark_processes(config: DictConfig) -> Path:
    """Train by torchrun as ``configs/processes.yaml`` says; return the path of the table.

    Raises:
        UserError: a training fails.
    """
    device = choose_device(config.device)
    cases = list(product(config.processes, config.threads_each))
    speeds: dict[tuple[int, int], list[float]] = {case: [] for case in cases}
    for _ in range(config.rounds):
        for case in cases:
            speeds[case].append(tokens_per_second(config, *case))
    rows = [
        {
            "processes": str(processes),
            "threads of each": str(threads),
            "target tokens/s": f"{median(own):,.0f}",
            "speed over the first row": ratio_by_round(own, speeds[cases[0]]),
        }
        for (processes, threads), own in speeds.items()
    ]
    notes = [
        f"train.py {' '.join(config.settings)}, {config.updates} updates, on {device.type}; the "
        "speed is that of the second half.",
        f"Medians over {config.rounds} rounds, in which the cases take turns; ratios within a "
        "round, median and range.",
    ]
    runs = [
        {"processes": processes, "threads": threads, "tokens_per_second": own}
        for (processes, threads), own in speeds.items()
    ]
    path = Path(config.output) / "processes"
    return write_results(path, "Speed of several processes", rows, notes, runs, device)


def tokens_per_second(config: DictConfig, processes: int, threads: int) -> float:
    """Train once; return the target tokens per second of the second half of the updates."""
    with tempfile.TemporaryDirectory() as folder:
        settings = [
            *(*config.settings, f"output={folder}", f"training.device={config.device}"),
            *(f"training.max_updates={config.updates}", "training.dev_bleu_sentences=0"),
            f"training.log_every={config.updates // 2}",
        ]
        launcher = ["torch.distributed.run", "--standalone", f"--nproc-per-node={processes}"]
        done = subprocess.run(
            [sys.executable, "-m", *launcher, str(TRAIN), *settings],
            env={**os.environ, "OMP_NUM_THREADS": str(threads)},
            capture_output=True,
            encoding="utf-8",
        )
        if done.returncode:
            said = [line for line in done.stderr.splitlines() if line.startswith("error: ")]
            raise UserError(said[0].removeprefix("error: ") if said else done.stderr)
        (log,) = Path(folder).rglob("metrics.jsonl")
        entries = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
    return [entry["tokens_per_second"] for entry in entries if entry["kind"] == "train"][1]


if __name__ == "__main__":
    main("processes", benchmark_processes)
