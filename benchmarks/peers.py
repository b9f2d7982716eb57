"""Next to another toolkit, Eole: speed of training, and time to a quality.

python benchmarks/peers.py measure=quality peers_python=peers/bin/python
"""

import logging
import shutil
import sys
import time
from itertools import product
from operator import itemgetter
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import torch
from harness import main, ratio_by_round, write_results
from omegaconf import DictConfig, OmegaConf
from toolkits import OURS, PROGRAMS, REPORT_EVERY, PeerText, Toolkit, write_text

from seq2seq.config import check, require_choice
from seq2seq.config.settings import Corpus
from seq2seq.data.corpora import load_corpus
from seq2seq.device import choose_device, choose_precision
from seq2seq.errors import UserError

log = logging.getLogger(__name__)

Record = dict[str, Any]
Measured = tuple[list[Record], list[dict[str, str]], str]
"""Raw records, rows of the table, and a note on what was measured."""
NOTES = [
    "The models are similar, but not equal: Eole attends after the decoder's step (Luong's order), "
    "this project before it (Bahdanau's) unless the order above is luong; Eole's output layer "
    "is as wide as the decoder's state, this project's as wide as an embedding.",
    "On CUDA, bf16 is float16 with a scaled loss in Eole, whose autocast takes PyTorch's default.",
]


class Comparison(NamedTuple):
    """Programs that take turns, and their common settings; ``work`` is the folder of their logs."""

    config: DictConfig
    toolkits: dict[str, Toolkit]
    text: PeerText
    work: Path

    def train(self, name: str, run: str, **more: Any) -> tuple[Path, list[Any]]:
        """Train with toolkit ``name``; return its folder, now deleted, and its log lines."""
        folder, setting = self.work / f"{name}-{run}", self.config.setting
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        fixed = {"half_hidden": setting.hidden // 2, "seed": self.config.seed}
        fixed |= {"device": self.config.device, **self.text._asdict()}
        lines = self.toolkits[name].train(folder, {**setting, **fixed, **more})
        shutil.rmtree(folder)
        return folder, lines


def benchmark_peers(config: DictConfig) -> Path:
    """Compare the programs with the settings of ``configs/peers.yaml``; return the table's path."""
    measures = {"training": time_training, "quality": time_quality}
    require_choice("measure", config.measure, tuple(measures))
    for name in config.precisions:
        require_choice("precisions", name, ("fp32", "bf16"))
    if config.updates < REPORT_EVERY or config.updates % REPORT_EVERY:
        raise UserError(f"updates={config.updates} must be a multiple of {REPORT_EVERY} above 0.")
    device = choose_device(config.device)
    pythons = {OURS: sys.executable, "eole": config.peers_python or sys.executable}
    toolkits = {name: Toolkit(name, Path(pythons[name]).absolute()) for name in PROGRAMS}
    versions = [toolkit.version() for toolkit in toolkits.values()]
    if choose_precision("auto", device) == torch.float32:
        config.precisions = ["fp32"]  # where bf16 is emulated, it slows every program
    path = Path(config.output).resolve() / f"peers-{config.measure}"
    corpus = check("corpus", OmegaConf.to_container(config.corpus), Corpus)
    text = write_text(
        load_corpus(corpus, Path(config.data)), path / "text", config.setting.min_frequency
    )
    comparison = Comparison(config, toolkits, text, path)
    runs, rows, note = measures[config.measure](comparison)
    notes = [
        note,
        f"Text: {text.pairs:,} pairs {text.source}-{text.target}, "
        f"{text.target_tokens / text.pairs:.1f} target tokens each; words {text.words[0]:,} and "
        f"{text.words[1]:,}, specials not counted.",
        f"LSTMs of one layer, Adam; {listed(config.setting)}, threads {torch.get_num_threads()}, "
        f"seed {config.seed}.",
        *NOTES,
        f"Versions: {'; '.join(versions)}.",
    ]
    title = f"{config.measure.capitalize()} next to another toolkit"
    return write_results(path, title, rows, notes, runs, device)


def time_training(comparison: Comparison) -> Measured:
    """Train with each program and precision in turns; one clock, as each counts in its own way."""
    text, config, runs = comparison.text, comparison.config, []
    total, batch = REPORT_EVERY + config.updates, config.setting.batch_size
    if total * batch > text.pairs:  # between two passes Eole reads the text again
        raise UserError(
            f"updates={config.updates} and {REPORT_EVERY} updates of warm-up are more than one "
            f"pass over {text.pairs} pairs; lower updates."
        )
    for number, precision, name in product(
        range(config.rounds), config.precisions, comparison.toolkits
    ):
        folder, lines = comparison.train(
            name, f"{precision}-{number}", precision=precision, updates=total
        )
        find = comparison.toolkits[name].find
        clock = {find("update", line): second for line, second in lines}
        if not {REPORT_EVERY, total} <= clock.keys():
            raise UserError(
                f"{name} did not report at update {REPORT_EVERY} or {total}; see {folder}.log"
            )
        seconds = clock[total] - clock[REPORT_EVERY]
        speed = config.updates * batch * text.target_tokens / text.pairs / seconds
        log.info("%s: %.0f target tokens/s", folder.name, speed)
        size = next(size for line, _ in lines if (size := find("parameters", line)))
        run = {"program": name, "precision": precision, "round": number}
        runs.append({**run, "seconds": seconds, "speed": speed, "parameters": size})
    rows = []
    for precision, name in product(config.precisions, comparison.toolkits):
        ours, speeds = (
            [r["speed"] for r in runs if (r["program"], r["precision"]) == (program, precision)]
            for program in (OURS, name)
        )
        size = next(run["parameters"] for run in runs if run["program"] == name)
        row = {"program": name, "precision": precision, "target tokens/s": f"{median(speeds):,.1f}"}
        row[f"{OURS} over it"] = "1" if name == OURS else ratio_by_round(ours, speeds)
        rows.append({**row, "parameters": f"{size:,.0f}"})
    note = (
        f"Target tokens per second of the whole program: the sentences of {config.updates} updates "
        f"after {REPORT_EVERY} of warm-up, times their mean length, ends of sentence included, by "
        f"one clock for all programs; median of {config.rounds} rounds in turns. {OURS} over it: "
        f"speed of {OURS} / speed of the program, per round; median and range."
    )
    return runs, rows, note


def time_quality(comparison: Comparison) -> Measured:
    """Train with each program at each learning rate; record dev perplexities and their times."""
    runs: list[Record] = []
    config = comparison.config
    precision = config.precisions[-1]
    usual = {"updates": config.train_updates, "validate_every": config.validate_every}
    settings = {name: {**usual, **config.best.get(name, {})} for name in comparison.toolkits}
    for name, own in settings.items():
        if own["validate_every"] > own["updates"]:
            raise UserError(f"validate_every={own['validate_every']} never validates {name}.")
    for rate, (name, toolkit) in product(config.rates, comparison.toolkits.items()):
        variables = {"precision": precision, "learning_rate": rate, **settings[name]}
        start = time.monotonic()
        folder, lines = comparison.train(name, f"{precision}-{rate:g}", **variables)
        found = [(clock - start, toolkit.find("perplexity", line)) for line, clock in lines]
        curve = [(second, perplexity) for second, perplexity in found if perplexity is not None]
        log.info("%s: dev perplexity %.2f", folder.name, curve[-1][1])
        runs.append({"program": name, "precision": precision, "rate": rate, "curve": curve})

    def points(name: str) -> list[tuple[float, float, float]]:
        """All validations of a program: seconds since its start, dev perplexity, learning rate."""
        own = (run for run in runs if run["program"] == name)
        return [(*point, run["rate"]) for run in own for point in run["curve"]]

    def earliest(name: str, goal: float) -> str:
        times = [point for point in points(name) if point[1] <= goal]
        return f"{min(times)[0] / 60:.1f} ({min(times)[2]:g})" if times else ""

    lowest = {name: min(points(name), key=itemgetter(1)) for name in comparison.toolkits}
    rows = [
        {
            "program": name,
            "precision": precision,
            **{f"minutes to {goal:g}": earliest(name, goal) for goal in config.perplexities},
            "best": f"{perplexity:.2f} ({rate:g})",
            "minutes to it": f"{seconds / 60:.1f}",
        }
        for name, (seconds, perplexity, rate) in lowest.items()
    ]
    note = (
        "Minutes from the start of the program to the first validation at this dev perplexity or "
        f"below (empty: none); a validation every {config.validate_every} updates, of at most "
        f"{max(own['updates'] for own in settings.values()):,}. Best: the lowest dev perplexity. "
        "Each program trains once with each learning rate "
        f"{', '.join(f'{rate:g}' for rate in config.rates)}; the rate that was best for an entry "
        "is in brackets. Settings of a single program: "
        f"{'; '.join(f'{name} {listed(own)}' for name, own in config.best.items())}. Averaging the "
        "weights (schedule average) is this project's default; Eole can, but does not by default."
    )
    return runs, rows, note


def listed(settings: DictConfig) -> str:
    """Name and value of each setting, in words."""
    return ", ".join(f"{str(key).replace('_', ' ')} {value}" for key, value in settings.items())


if __name__ == "__main__":
    main("peers", benchmark_peers)
