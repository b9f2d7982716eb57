"""What the benchmarks share: settings, cases in turns, memory, and the page of results.

A machine drifts: another program starts, a processor warms up and slows down. Cases that take turns
within one run meet the same conditions, so their ratio is more reliable than their times.
"""

import gc
import logging
import multiprocessing
import re
import sys
import time
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from statistics import median
from typing import Any, TypeVar

import torch
from hydra import compose, initialize_config_dir
from hydra.core.config_store import ConfigStore
from hydra.errors import HydraException
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from seq2seq.composition import defaults
from seq2seq.config import CORPORA
from seq2seq.errors import UserError
from seq2seq.files import write_json, write_whole
from seq2seq.record import Record, environment_record
from seq2seq.report.tables import markdown_table
from seq2seq.report.training_runs import describe_environments

CONFIGS = Path(__file__).resolve().parent / "configs"
Case = TypeVar("Case", bound=Hashable)


def compose_config(name: str, overrides: Sequence[str]) -> DictConfig:
    """Compose the settings of benchmark ``name``: ``configs/<name>.yaml``, then ``overrides``."""
    for kind, corpus in CORPORA.items():
        ConfigStore.instance().store(group="corpus", name=kind, node=defaults(corpus))
    try:
        with initialize_config_dir(str(CONFIGS), version_base="1.3"):
            config = compose(name, overrides=list(overrides))
        OmegaConf.to_container(config, throw_on_missing=True)
    except (HydraException, OmegaConfBaseException) as error:
        problem = str(error).strip().splitlines()[0].rstrip(".")
        raise UserError(f"{problem}; benchmarks/configs/{name}.yaml lists the settings.") from None
    return config


def main(name: str, benchmark: Callable[[DictConfig], Path]) -> None:
    """Run ``benchmark`` with the settings of the command line, and print the page that it wrote."""
    if {"-h", "--help"} & set(sys.argv):
        print((CONFIGS / f"{name}.yaml").read_text(encoding="utf-8"), end="")
        return
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    try:
        config = compose_config(name, sys.argv[1:])
        if config.get("threads"):
            torch.set_num_threads(config.threads)
        print(benchmark(config).read_text(encoding="utf-8"))
    except UserError as error:
        sys.exit(f"error: {error}")


def write_results(
    path: Path,
    title: str,
    rows: Sequence[dict[str, str]],
    notes: Iterable[str],
    runs: Sequence[dict[str, Any]],
    device: torch.device,
) -> Path:
    """Write ``<path>.md``, whose table has ``rows``, and ``<path>.json``, with the raw ``runs``.

    Command, hardware and versions are in both files.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    environment = environment_record(device)
    write_json(path.with_suffix(".json"), {"runs": runs, "environment": environment})
    (made,) = describe_environments([Record(**environment)])
    made = made.replace("python scripts/", "python benchmarks/", 1)
    table = markdown_table(list(rows[0]), [list(row.values()) for row in rows])
    lines = "".join(f"- {line}\n" for line in [*notes, made])
    write_whole(path.with_suffix(".md"), f"# {title}\n\n{table}\n{lines}".encode())
    return path.with_suffix(".md")


def time_in_turns(
    cases: Mapping[Case, Callable[[], object]],
    calls: int,
    rounds: int,
    device: torch.device,
    warm_up: int = 2,
) -> dict[Case, list[list[float]]]:
    """Seconds of each call: for each case, a list per round, in which it is called ``calls`` times.

    The calls of ``warm_up`` allocate memory and choose algorithms; they are not timed.
    """
    for call in cases.values():
        for _ in range(warm_up):
            call()
    seconds: dict[Case, list[list[float]]] = {case: [] for case in cases}
    for _ in range(rounds):
        for case, call in cases.items():
            seconds[case].append([_seconds(call, device) for _ in range(calls)])
    return seconds


def _seconds(call: Callable[[], object], device: torch.device) -> float:
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    start = time.perf_counter()
    call()
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    return time.perf_counter() - start


def ratio_by_round(first: Sequence[float], second: Sequence[float]) -> str:
    """Format ``first`` divided by ``second``, round by round, as "median [lowest, highest]"."""
    ratios = [one / two for one, two in zip(first, second, strict=True)]
    return f"{median(ratios):.2f} [{min(ratios):.2f}, {max(ratios):.2f}]"


def peak_memory(work: Callable[[], object], device: torch.device) -> float:
    """Peak memory of ``work`` in MB (a million bytes).

    CPU (only Linux): all of a fresh process; CUDA: the tensors that ``work`` makes in this one.
    """
    if device.type == "cuda":
        gc.collect()  # frees recorded graphs, which refer to each other
        torch.cuda.reset_peak_memory_stats(device)
        before = torch.cuda.memory_allocated(device)
        work()
        return (torch.cuda.max_memory_allocated(device) - before) / 1e6
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        return pool.submit(_peak_here, work, torch.get_num_threads()).result()


def _peak_here(work: Callable[[], object], threads: int) -> float:
    torch.set_num_threads(threads)
    work()
    # getrusage will not do: a child's figure starts from its parent's.
    found = re.search(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text())
    assert found is not None  # Linux has this line
    return int(found[1]) * 1024 / 1e6
