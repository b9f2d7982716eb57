"""Comparison with other toolkits: speed of training and of translation, time to quality.

python benchmarks/peers.py measure=translation peers=[opennmt,eole] peers_python=peers/bin/python
"""

import json
import logging
import math
import shutil
import sys
import time
from itertools import product
from operator import itemgetter
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import torch
from harness import main, write_results
from matplotlib.figure import Figure
from measure import ratio_by_round
from omegaconf import DictConfig, OmegaConf
from sacrebleu.metrics import BLEU
from toolkits import OURS, PEERS, REPORT_EVERY, PeerText, Toolkit, write_text

from seq2seq.config import check, require_choice
from seq2seq.config.settings import Corpus
from seq2seq.data.corpora import load_corpus
from seq2seq.data.text import read_lines
from seq2seq.device import choose_device, choose_precision
from seq2seq.errors import UserError
from seq2seq.files import write_json

log = logging.getLogger(__name__)

Record = dict[str, Any]
Measured = tuple[list[Record], list[dict[str, str]], str]
"""Raw records, rows of the table, and a note on what was measured."""
NOTES = [
    "The models are similar, but not equal: in the peers attention follows the decoder's step "
    "(Luong's order), here it comes first (Bahdanau's) unless the order above is luong; their "
    "output layer reads as many units as the decoder has, ours as many as an embedding.",
    "Batches are each program's own: JoeyNMT's are random, ours hold sentences of like length.",
]
AVERAGES = (
    "Averaging the weights (schedule average) is this project's default. OpenNMT-py and Eole can "
    "average them, too, but do not by default, nor here."
)
BF16 = {
    "cpu": "bf16 is no setting of JoeyNMT and OpenNMT-py on a processor: an autocast forces it "
    "on them.",
    "cuda": "bf16 means float16 with a scaled loss in OpenNMT-py, which has no bfloat16, and in "
    "Eole, whose autocast takes PyTorch's default.",
}
OVER = f"{OURS} over it: speed of {OURS} / speed of the program, per round; median and range."


def benchmark_peers(config: DictConfig) -> Path:
    """Compare this project with its peers; return the path of the table.

    ``config`` has the settings of ``configs/peers.yaml``.

    Raises:
        UserError: a peer, its Python or a text does not exist, or a program failed.
    """
    measures = {"training": time_training, "translation": time_translation, "quality": time_quality}
    require_choice("measure", config.measure, tuple(measures))
    for name in config.peers:
        require_choice("peers", name, PEERS)
    for key in ("updates", "train_updates"):
        if config[key] < REPORT_EVERY or config[key] % REPORT_EVERY:
            raise UserError(f"{key}={config[key]} must be a multiple of {REPORT_EVERY} above 0.")
    for name in (OURS, *config.peers) if config.measure == "quality" else ():
        own = quality_settings(config, name)
        if own["validate_every"] > own["updates"]:
            raise UserError(
                f"validate_every={own['validate_every']} is more than the {own['updates']} updates "
                f"of {name}, which would not be validated; lower it."
            )
    require_choice("device", config.device, tuple(BF16))
    for name in config.precisions:
        require_choice("precisions", name, ("fp32", "bf16"))
    if config.device == "cuda" and (config.measure == "translation" or "joeynmt" in config.peers):
        raise UserError(
            "device=cuda is for training and quality only, and without joeynmt; set device=cpu, or "
            "change measure or peers."
        )
    device = choose_device(config.device)
    python = Path(config.peers_python or sys.executable).absolute()
    found = {name: Toolkit(name, python) for name in config.peers}
    toolkits, versions, left_out = {}, [], []
    for name, toolkit in {OURS: Toolkit(OURS, Path(sys.executable)), **found}.items():
        try:
            versions.append(toolkit.version())
            toolkits[name] = toolkit
        except UserError as error:
            log.info("%s", error)
            left_out.append(str(error))
    if len(toolkits) < 2 or OURS not in toolkits:
        raise UserError(f"There is nothing to compare. {' '.join(left_out)}")
    fast = choose_precision("auto", device) == torch.bfloat16
    # Where bf16 is emulated, it slows every program.
    precisions = [name for name in config.precisions if name == "fp32" or fast]
    path = Path(config.output).resolve() / f"peers-{config.measure}"
    corpus = check("corpus", OmegaConf.to_container(config.corpus), Corpus)
    corpus = load_corpus(corpus, Path(config.data))
    text = write_text(corpus, path / "text", config.setting.min_frequency)
    comparison = Comparison(config, toolkits, precisions, text, path)
    runs, rows, note = measures[config.measure](comparison)
    if config.measure == "quality":
        draw_quality(runs, path.with_suffix(".png"))
        note = f"{note} {AVERAGES}"
    notes = [
        note,
        f"Text: {text.pairs:,} pairs {text.source}-{text.target}, "
        f"{text.target_tokens / text.pairs:.1f} target tokens each; words {text.words[0]:,} and "
        f"{text.words[1]:,}, specials not counted.",
        "LSTMs of one layer, Adam; "
        + ", ".join(f"{key.replace('_', ' ')} {value}" for key, value in config.setting.items())
        + f", threads {torch.get_num_threads()}, seed {config.seed}.",
        *NOTES,
        BF16[config.device],
        f"Versions: {'; '.join(versions)}.",
        *left_out,
    ]
    title = f"{config.measure.capitalize()} next to other toolkits"
    return write_results(path, title, rows, notes, runs, device)


class Comparison(NamedTuple):
    """Programs that take turns, and their common settings."""

    config: DictConfig
    toolkits: dict[str, Toolkit]
    precisions: list[str]
    text: PeerText
    work: Path
    """Folder for logs, models and translations."""

    def variables(self, precision: str, updates: int, **more: Any) -> Record:
        """Values for the variables in the descriptions of the toolkits."""
        setting: Any = OmegaConf.to_container(self.config.setting)
        epochs = math.ceil(updates * setting["batch_size"] / self.text.pairs)
        run = {"precision": precision, "updates": updates, "epochs": epochs, **more}
        fixed = {"half_hidden": setting["hidden"] // 2, "seed": self.config.seed}
        fixed |= {"half_updates": updates // 2, "tenth_updates": updates // 10}
        fixed["device"] = self.config.device
        return {**setting, **self.text._asdict(), **fixed, **run}

    def run(self, task: str, name: str, run: str, variables: Record) -> tuple[Path, list[Any]]:
        """Run ``task`` of toolkit ``name``; return its folder and log lines."""
        folder = self.work / f"{name}-{run}"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        return folder, self.toolkits[name].run(task, folder, {"model": folder, **variables})


def time_training(comparison: Comparison) -> Measured:
    """Train with each program and precision in turns.

    The speed is target tokens (sentences x mean length) over wall time, from the report after the
    warm-up to the last one. The programs' own speeds are not used: each counts in another way.
    """
    text, config, runs = comparison.text, comparison.config, []
    total, batch = REPORT_EVERY + config.updates, config.setting.batch_size
    if total * batch > text.pairs:  # between two passes some toolkits read the text again
        raise UserError(
            f"updates={config.updates} and {REPORT_EVERY} updates of warm-up are more than one "
            f"pass over {text.pairs} pairs; lower updates."
        )
    turns = product(range(config.rounds), comparison.precisions, comparison.toolkits.items())
    for number, precision, (name, toolkit) in turns:
        variables = comparison.variables(precision, total)
        folder, lines = comparison.run("train", name, f"{precision}-{number}", variables)
        shutil.rmtree(folder)
        clock = {toolkit.find("update", line): second for line, second in lines}
        if not {REPORT_EVERY, total} <= clock.keys():
            raise UserError(
                f"{name} did not report at update {REPORT_EVERY} or {total}; see {folder}.log"
            )
        seconds = clock[total] - clock[REPORT_EVERY]
        speed = config.updates * batch * text.target_tokens / text.pairs / seconds
        log.info("%s: %.0f target tokens/s", folder.name, speed)
        size = next(size for line, _ in lines if (size := toolkit.find("parameters", line)))
        run = {"program": name, "case": {"precision": precision}, "round": number}
        runs.append({**run, "seconds": seconds, "speed": speed, "parameters": size})
    note = (
        f"Target tokens per second of the whole program: the sentences of {config.updates} updates "
        f"after {REPORT_EVERY} of warm-up, times their mean length, ends of sentence included, by "
        f"one clock for all programs; median of {config.rounds} rounds in turns. {OVER}"
    )
    return runs, speed_rows(runs, "target tokens/s", {"parameters": ",.0f"}), note


def time_translation(comparison: Comparison) -> Measured:
    """Translate the test text with each program and search in turns, by models trained once."""
    text, config, runs = comparison.text, comparison.config, []
    models = {name: train_once(comparison, name) for name in comparison.toolkits}
    references = list(read_lines(text.text / f"test.{text.target}"))
    programs = comparison.toolkits.items()
    turns = product(range(config.rounds), comparison.precisions, config.beams, programs)
    for number, precision, beam, (name, toolkit) in turns:
        search = {"beam": beam, "max_length": config.max_length, "model": models[name]}
        variables = comparison.variables(precision, config.train_updates, **search)
        turn = f"{precision}-beam{beam}-{number}"
        folder, lines = comparison.run("translate", name, turn, variables)
        seconds = sum(toolkit.find("seconds", line) or 0.0 for line, _ in lines)
        found = toolkit.hypotheses(folder)
        if not seconds or len(found) != len(references):
            raise UserError(
                f"{name} translated {len(found)} sentences in {seconds} s; see {folder}.log"
            )
        log.info("%s: %.1f sentences/s", folder.name, len(found) / seconds)
        case = {"search": "greedy" if beam == 1 else f"beam {beam}", "precision": precision}
        run = {"program": name, "case": case, "round": number, "seconds": seconds}
        # The text is tokenised already; ``force`` avoids a warning about that.
        bleu = BLEU(tokenize="none", force=True).corpus_score(found, [references]).score
        words = sum(len(line.split()) for line in found) / len(found)
        runs.append({**run, "speed": len(found) / seconds, "BLEU": bleu, "words": words})
    note = (
        f"Sentences per second of the search as each program reports it, without its start and the "
        f"model's loading; at most {config.max_length} words; median of {config.rounds} rounds in "
        f"turns. Each model was trained for {config.train_updates:,} updates. BLEU on the tokens; "
        "words: mean length of a translation. What ends a search and ranks its results is each "
        "program's default, but for JoeyNMT's length penalty of 1. " + OVER
    )
    return runs, speed_rows(runs, "sentences/s", {"BLEU": ".1f", "words": ".1f"}), note


def train_once(comparison: Comparison, name: str) -> Path:
    """Folder in which a toolkit has trained: an earlier one with equal settings, or a new one."""
    variables = comparison.variables(comparison.precisions[-1], comparison.config.train_updates)
    record = {key: str(value) for key, value in variables.items()}
    record["version"] = comparison.toolkits[name].version()
    done = comparison.work / f"{name}-model" / "trained.json"
    if not done.is_file() or json.loads(done.read_text(encoding="utf-8")) != record:
        log.info("training %s, %d updates", name, comparison.config.train_updates)
        comparison.run("train", name, "model", variables)
        write_json(done, record)  # last: a training that was cut off starts again
    return done.parent


def time_quality(comparison: Comparison) -> Measured:
    """Train with each program at each learning rate; record dev perplexities and their times."""
    runs: list[Record] = []
    config, precision = comparison.config, comparison.precisions[-1]
    best: Any = OmegaConf.to_container(config.best)
    for rate, (name, toolkit) in product(config.rates, comparison.toolkits.items()):
        own = quality_settings(config, name)
        variables = comparison.variables(precision, learning_rate=rate, **own)
        start = time.monotonic()
        folder, lines = comparison.run("train", name, f"{precision}-{rate:g}", variables)
        shutil.rmtree(folder)
        found = [(clock - start, toolkit.find("perplexity", line)) for line, clock in lines]
        curve = [(second, perplexity) for second, perplexity in found if perplexity is not None]
        log.info("%s: dev perplexity %.2f", folder.name, curve[-1][1])
        runs.append({"program": name, "precision": precision, "rate": rate, "curve": curve})

    def earliest(name: str, goal: float) -> str:
        times = [point for point in points(runs, name) if point[1] <= goal]
        return f"{min(times)[0] / 60:.1f} ({min(times)[2]:g})" if times else ""

    most = max(quality_settings(config, name)["updates"] for name in comparison.toolkits)
    lowest = {name: min(points(runs, name), key=itemgetter(1)) for name in comparison.toolkits}
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
        f"{most:,}. Best: the lowest dev perplexity. Each program trains once with "
        "each learning rate "
        f"{', '.join(f'{rate:g}' for rate in config.rates)}; the rate that was best for an entry "
        "is in brackets. Settings of a single program: "
        + "; ".join(
            f"{name} " + ", ".join(f"{key.replace('_', ' ')} {value}" for key, value in own.items())
            for name, own in best.items()
            if name in comparison.toolkits
        )
        + "."
    )
    return runs, rows, note


def quality_settings(config: DictConfig, name: str) -> Record:
    """Updates of a program, those between its validations, and its own settings."""
    usual = {"updates": config.train_updates, "validate_every": config.validate_every}
    return {**usual, **config.best.get(name, {})}


def points(runs: list[Record], name: str) -> list[tuple[float, float, float]]:
    """All validations of a program: seconds since its start, dev perplexity, learning rate."""
    own = (run for run in runs if run["program"] == name)
    return [(*point, run["rate"]) for run in own for point in run["curve"]]


def speed_rows(runs: list[Record], unit: str, extras: dict[str, str]) -> list[dict[str, str]]:
    """Make a row for each program and case: medians of speed and ``extras``, ratios within a round.

    ``unit`` is the unit of speed; ``extras`` maps further columns to their formats.
    """
    cases: dict[tuple[str, ...], list[Record]] = {}
    for run in runs:
        cases.setdefault((run["program"], *run["case"].values()), []).append(run)
    rows = []
    for case, own in cases.items():
        same_case = (OURS, *case[1:])
        speeds, ours = ([run["speed"] for run in each] for each in (own, cases[same_case]))
        rows.append(
            {
                "program": case[0],
                **own[0]["case"],
                unit: f"{median(speeds):,.1f}",
                f"{OURS} over it": "1" if case[0] == OURS else ratio_by_round(ours, speeds),
                **{key: f"{median(run[key] for run in own):{f}}" for key, f in extras.items()},
            }
        )
    return rows


def draw_quality(runs: list[Record], path: Path) -> None:
    """Draw dev perplexity by minutes since the start, one line for each program and rate."""
    figure = Figure((7, 4), dpi=150, layout="constrained")
    axes = figure.subplots()
    programs, rates = (list(dict.fromkeys(run[key] for run in runs)) for key in ("program", "rate"))
    for run in runs:
        seconds, perplexities = zip(*run["curve"], strict=True)
        axes.plot(
            [second / 60 for second in seconds],
            perplexities,
            color=f"C{programs.index(run['program'])}",
            linestyle=("-", "--", "-.", ":")[rates.index(run["rate"]) % 4],
            label=f"{run['program']} {run['rate']:g}",
        )
    axes.set(xlabel="minutes since the start", ylabel="dev perplexity", yscale="log")
    axes.set_yticks(ticks := [4, 5, 6, 8, 10, 15, 20, 30], [str(tick) for tick in ticks])
    axes.minorticks_off()
    axes.legend()
    figure.savefig(path, metadata={"Software": None})


if __name__ == "__main__":
    main("peers", benchmark_peers)
