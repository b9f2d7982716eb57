"""How fast training is, and how much memory it takes, by several paths to the same update.

python benchmarks/training.py sizes=[m,l] paths=[naive,fast]
"""

import logging
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

from harness import main, write_results
from matplotlib.figure import Figure
from measure import peak_memory, ratio_by_round, time_in_turns
from omegaconf import DictConfig
from workload import PATHS, SIZES, Workload, start, train

from seq2seq.config import require_choice
from seq2seq.device import choose_device

log = logging.getLogger(__name__)


def benchmark_training(config: DictConfig) -> Path:
    """Measure each size by each path; write and return the table, with timings and a picture.

    The files are called after the sizes and what is not the default, such as ``training-m-l``.

    Args:
        config: see ``configs/training.yaml``.

    Raises:
        UserError: a size, a path, a kind of attention or the device does not exist.
    """
    for key, choices in (("sizes", tuple(SIZES)), ("paths", tuple(PATHS))):
        for name in config[key]:
            require_choice(key, name, choices)
    require_choice("attention", config.attention, ("additive", "fixed"))
    device = choose_device(config.device)
    runs = []
    for size in config.sizes:
        log.info("size %s: %s", size, ", ".join(config.paths))
        workload = Workload(SIZES[size], config.attention, config.seed, device)
        runs += [{"size": size, **run} for run in _measure(workload, config)]
    parts = ["training", *config.sizes]
    parts += [name for name in (config.attention, device.type) if name not in ("additive", "cpu")]
    path = Path(config.output) / "-".join(parts)
    rows = [
        _row(run, next(first for first in runs if first["size"] == run["size"])) for run in runs
    ]
    table = write_results(path, "Training speed", rows, _notes(config), runs, device)
    _draw(runs, path.with_suffix(".png"))
    return table


def _measure(workload: Workload, config: DictConfig) -> list[dict[str, Any]]:
    """One record for each path. Memory comes first, while this process holds little."""
    tiny = Workload(SIZES["tiny"], workload.attention, workload.seed, workload.device)
    memory = {
        path: peak_memory(
            partial(train, path, tiny), partial(train, path, workload), workload.device
        )
        for path in config.paths
    }
    trainings = {path: start(path, workload) for path in config.paths}
    cases = {path: training.update for path, training in trainings.items()}
    timed = time_in_turns(cases, config.updates, config.rounds, workload.device)
    return [
        {
            "path": path,
            "products": training.products,
            "kernels": training.kernels,
            "rounds_seconds": timed[path],
            "median_seconds": median(second for turn in timed[path] for second in turn),
            "memory": memory[path],
        }
        for path, training in trainings.items()
    ]


def _row(run: dict[str, Any], first: dict[str, Any]) -> dict[str, str]:
    theirs, own = ([median(turn) for turn in each["rounds_seconds"]] for each in (first, run))
    return {
        **{key: run[key] for key in ("size", "path", "products", "kernels")},
        "ms/update": f"{1e3 * run['median_seconds']:,.1f}",
        "target tokens/s": f"{SIZES[run['size']].target_tokens / run['median_seconds']:,.0f}",
        f"speed over {first['path']}": "1" if run is first else ratio_by_round(theirs, own),
        **{key: f"{size:,.0f}" for key, size in run["memory"].items()},
    }


def _notes(config: DictConfig) -> list[str]:
    return [
        *(f"{name}: {SIZES[name].describe(config.attention)}." for name in config.sizes),
        *(f"{path}: {PATHS[path]}." for path in config.paths),
        f"Medians over {config.rounds} rounds of {config.updates} updates of each path in turn; "
        "speeds relative to the first path within a round, median and range. Memory of each path "
        "in a fresh process, in MB of a million bytes; beyond PyTorch: on top of a tiny training. "
        f"Seed {config.seed}.",
    ]


def _draw(runs: list[dict[str, Any]], path: Path) -> None:
    """Bars of milliseconds per update, a panel for each size."""
    sizes = list(dict.fromkeys(run["size"] for run in runs))
    figure = Figure((8, 0.6 + 0.3 * len(runs) + 0.6 * len(sizes)), dpi=150, layout="constrained")
    for axes, size in zip(figure.subplots(len(sizes), squeeze=False)[:, 0], sizes, strict=True):
        times = {run["path"]: 1e3 * run["median_seconds"] for run in runs if run["size"] == size}
        first = next(iter(times.values()))
        bars = axes.barh(list(times), list(times.values()), color="#0072B2")
        axes.bar_label(bars, [f"{t:,.1f} ms, {first / t:.2f}×" for t in times.values()], padding=4)
        axes.set_title(f"size {size}", loc="left")
        axes.invert_yaxis()
        axes.margins(x=0.3)
        axes.spines[["top", "right"]].set_visible(False)
    figure.axes[-1].set_xlabel("ms per update (median)")
    figure.savefig(path, metadata={"Software": None})


if __name__ == "__main__":
    main("training", benchmark_training)
