"""Time to quality: how long each program takes to a given dev perplexity, from its start."""

import logging
import shutil
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt

from seq2seq.benchmark.peers.comparison import find_programs
from seq2seq.benchmark.peers.process import execute
from seq2seq.benchmark.peers.setting import PeerSetting
from seq2seq.benchmark.peers.tables import describe_models, describe_text, describe_versions
from seq2seq.benchmark.peers.text import PeerText, write_text
from seq2seq.data.parallel_text import Corpus
from seq2seq.report.tables import markdown_table

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class LearningRun:
    """One program's dev perplexities, and when its log told them."""

    toolkit: str
    precision: str
    seconds: list[float]
    """Since the program was started, of each validation."""
    perplexities: list[float]

    def minutes_to(self, perplexity: float) -> float | None:
        """Until the first validation at ``perplexity`` or below; None if there is none."""
        pairs = zip(self.seconds, self.perplexities, strict=True)
        return next((second / 60 for second, found in pairs if found <= perplexity), None)


@dataclass(frozen=True)
class QualityComparison:
    """All runs, in the order in which they were made."""

    setting: PeerSetting
    text: PeerText
    runs: list[LearningRun]
    versions: dict[str, dict[str, str]]
    left_out: list[str]

    def records(self) -> list[dict[str, Any]]:
        """The runs as JSON has them."""
        return [asdict(run) for run in self.runs]


def compare_quality(
    peers: Sequence[str],
    corpus: Corpus,
    work: Path,
    python: Path,
    setting: PeerSetting,
    precisions: Sequence[str],
) -> QualityComparison:
    """Train each of ``peers`` and this project one after the other, validating as they go.

    Arguments are those of :func:`~seq2seq.benchmark.peers.comparison.compare_with_peers`;
    ``setting`` says how often to validate.
    """
    programs, left_out = find_programs(peers, python)
    text = write_text(corpus, work / "text", setting.min_frequency)
    runs = []
    for precision in precisions:
        for toolkit, interpreter, _ in programs:
            name = f"{toolkit.name}-{precision}"
            folder = work / name
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(parents=True)
            arguments = toolkit.command(text, setting, precision, folder)
            record = work / f"{name}.log"
            start = time.monotonic()
            lines = execute(toolkit, interpreter, arguments, folder, setting.threads, record)
            shutil.rmtree(folder)
            said = [
                (clock - start, found)
                for line, clock in lines
                if (found := toolkit.read_perplexity(line)) is not None
            ]
            runs.append(
                LearningRun(toolkit.name, precision, [s for s, _ in said], [p for _, p in said])
            )
            log.info("%s: best dev perplexity %.2f", name, min(runs[-1].perplexities, default=0))
    versions = {program.toolkit.name: program.versions for program in programs}
    return QualityComparison(setting, text, runs, versions, left_out)


def quality_markdown(comparison: QualityComparison, targets: Sequence[float]) -> str:
    """The table: minutes to each perplexity of ``targets``, and the conditions below."""
    setting = comparison.setting
    header = ["program", "precision", *(f"minutes to {t:g}" for t in targets), "best", "minutes"]
    rows = [
        [
            run.toolkit,
            run.precision,
            *("" if (m := run.minutes_to(t)) is None else f"{m:.1f}" for t in targets),
            f"{min(run.perplexities):.2f}",
            f"{run.seconds[-1] / 60:.1f}",
        ]
        for run in comparison.runs
    ]
    notes = [
        "Minutes from the start of the program to the first validation at this dev perplexity or "
        f"below (empty: none), with a validation every {setting.validate_every} updates; the best "
        f"one of {setting.total_updates:,} updates, and the minutes of all. One run of each.",
        describe_text(comparison.text),
        *describe_models(setting),
        describe_versions(comparison.versions),
        *comparison.left_out,
    ]
    return markdown_table(header, rows) + "\n" + "".join(f"- {note}\n" for note in notes)


def draw_quality(comparison: QualityComparison, path: Path) -> None:
    """Dev perplexity by minutes, one line a program, as ``path``."""
    figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
    styles = {"fp32": "--", "bf16": "-"}
    colours = {name: f"C{i}" for i, name in enumerate(comparison.versions)}
    for run in comparison.runs:
        axes.plot(
            [second / 60 for second in run.seconds],
            run.perplexities,
            styles[run.precision],
            color=colours[run.toolkit],
            marker=".",
            label=f"{run.toolkit}, {run.precision}",
        )
    axes.set(xlabel="minutes since the program was started", ylabel="dev perplexity", yscale="log")
    ticks = [4, 5, 6, 8, 10, 15, 20, 30]
    axes.set_yticks(ticks, [str(tick) for tick in ticks])
    axes.minorticks_off()
    axes.grid(alpha=0.3)
    axes.legend()
    figure.savefig(path, dpi=150)
    plt.close(figure)
