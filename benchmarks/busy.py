"""Speed beside other programs, by how the threads of OpenMP wait for one another.

python benchmarks/busy.py checkpoint=outputs/quickstart/attention/seed-1
"""

import contextlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from itertools import islice, product
from pathlib import Path
from statistics import median

from harness import main, write_results
from measure import ratio_by_round
from omegaconf import DictConfig
from training import SIZES, Size, Workload, start

from seq2seq.checkpoint import load_checkpoint
from seq2seq.config import DecodingConfig
from seq2seq.data.corpora import load_corpus
from seq2seq.data.text import read_aligned
from seq2seq.decoding.translator import Translator
from seq2seq.device import choose_device

VARIABLES = ("GOMP_SPINCOUNT", "OMP_NUM_THREADS", "OMP_WAIT_POLICY")
QUICKSTART = Size(128, 128, 256, 128, vocabulary=600, batch=64, source=24, target=24)
Tasks = dict[str, Callable[[], object]]


def benchmark_busy(config: DictConfig) -> Path:
    """Time the tasks in fresh processes, as ``configs/busy.yaml`` says; return the table's path."""
    cases = list(product(config.loops, config.environments))
    rates: dict[tuple[int, str], list[dict[str, float]]] = {case: [] for case in cases}
    for _ in range(config.rounds):
        for loops, environment in cases:
            with endless_loops(loops):
                rates[loops, environment].append(timed(config, environment))
    quiet = rates[cases[0]]
    rows = [
        {"loops": str(loops), "variables": environment}
        | {
            task: ratio_by_round([one[task] for one in own], [one[task] for one in quiet])
            for task in quiet[0]
        }
        for (loops, environment), own in rates.items()
    ]
    speeds = {task: median(one[task] for one in quiet) for task in quiet[0]}
    notes = [
        "Speed over the first row's, round by round: median and range of "
        f"{config.rounds} rounds, in which the rows take turns. First row: "
        + ", ".join(f"{task} {speed:.2f} a second" for task, speed in speeds.items())
        + ".",
        "loops: endless loops that run beside the program, each in a process of its own.",
        f"train: one update of the quickstart's size ({QUICKSTART}) or of m of "
        "benchmarks/training.py, with the default settings. evaluate: greedy search and forced "
        f"decoding, translate: beam 5, of {config.sentences} test sentences.",
    ]
    runs = [{"loops": n, "variables": name, "rates": own} for (n, name), own in rates.items()]
    path = Path(config.output) / "busy"
    return write_results(
        path, "Speed beside other programs", rows, notes, runs, choose_device("cpu")
    )


@contextlib.contextmanager
def endless_loops(count: int) -> Iterator[None]:
    """Context in which ``count`` other processes compute without end."""
    loops = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]
    try:
        yield
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()


def timed(config: DictConfig, environment: str) -> dict[str, float]:
    """Calls a second of each task, in a fresh process with the variables ``environment``."""
    kept = {key: value for key, value in os.environ.items() if key not in VARIABLES}
    own = dict(word.split("=") for word in environment.split())
    command = [sys.executable, __file__, "--tasks", config.checkpoint, config.data]
    command += [str(config.sentences), str(config.seconds)]
    done = subprocess.run(command, env=kept | own, stdout=subprocess.PIPE, check=True)
    rates: dict[str, float] = json.loads(done.stdout)
    return rates


def tasks_of(checkpoint: str, data: str, sentences: int) -> Tasks:
    """Name of each task -> a function that does it once."""
    loaded = load_checkpoint(Path(checkpoint), choose_device("cpu"))
    translator = Translator(loaded)
    text = next(iter(load_corpus(loaded.config.corpus, Path(data)).tests.values()))
    sides = read_aligned(text.source, text.target)
    step = len(sides[0]) // sentences
    sources, references = ([*islice(side, 0, None, step)] for side in sides)

    def evaluate() -> None:
        translator.translate(sources, DecodingConfig(beam=1, batch_size=32))
        list(translator.force(sources, references, 32))

    sizes = {"train, quickstart": QUICKSTART, "train, Multi30k": SIZES["m"]}
    device = translator.device
    trained = {k: start("fast", Workload(v, "additive", 1, device)) for k, v in sizes.items()}
    return {name: training.update for name, training in trained.items()} | {
        "evaluate": evaluate,
        "translate": lambda: translator.translate(sources, DecodingConfig(beam=5, batch_size=32)),
    }


def print_rates(checkpoint: str, data: str, sentences: str, seconds: str) -> None:
    """Repeat each task for at least ``seconds``, and print its calls a second as JSON."""
    rates = {}
    for name, task in tasks_of(checkpoint, data, int(sentences)).items():
        task()
        begun, calls = time.perf_counter(), 0
        while (passed := time.perf_counter() - begun) < float(seconds):
            task()
            calls += 1
        rates[name] = calls / passed
    print(json.dumps(rates))


if __name__ == "__main__":
    if sys.argv[1:2] == ["--tasks"]:
        print_rates(*sys.argv[2:])
    else:
        main("busy", benchmark_busy)
