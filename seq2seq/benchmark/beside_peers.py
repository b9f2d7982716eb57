"""The stage ``benchmark`` with ``peers``: training, or translation, beside other toolkits."""

import logging
import sys
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import torch

from seq2seq.benchmark.peers import (
    PEERS,
    PRECISIONS,
    PeerSearch,
    PeerSetting,
    compare_quality,
    compare_translations,
    compare_with_peers,
    comparison_markdown,
    draw_quality,
    quality_markdown,
    translation_markdown,
)
from seq2seq.benchmark.table_file import write_table
from seq2seq.config import BenchmarkConfig, require_choice
from seq2seq.data.corpora import load_corpus
from seq2seq.device import choose_precision
from seq2seq.errors import UserError
from seq2seq.record import describe_environment, environment_record

log = logging.getLogger(__name__)


def benchmark_peers(config: BenchmarkConfig) -> str:
    """Train other toolkits and this one on the same text in turns; write and return the table.

    Raises:
        UserError: a peer or its Python does not exist, a program failed, or there is no text.
    """
    python = _python(config)
    setting = _setting(config, config.peer_updates)
    folder = Path(config.output)
    corpus = load_corpus(config.corpus, Path(config.data))
    comparison = compare_with_peers(
        config.peers, corpus, folder / "peers", python, setting, _precisions(), config.alternations
    )
    runs = [asdict(run) for run in comparison.runs]
    return _write(folder, "peers", comparison_markdown(comparison), runs)


def benchmark_peer_translation(config: BenchmarkConfig) -> str:
    """Let other toolkits and this one translate the same text in turns; write, return the table.

    Raises:
        UserError: a peer or its Python does not exist, a program failed, or there is no text.
    """
    python = _python(config)
    setting = _setting(config, config.peer_training - PeerSetting.warm_up)
    searches = [
        PeerSearch(beam=beam, precision=precision, batch_size=max(config.batch_sizes))
        for precision in _precisions()
        for beam in config.beams
    ]
    folder = Path(config.output)
    corpus = load_corpus(config.corpus, Path(config.data))
    comparison = compare_translations(
        config.peers,
        corpus,
        folder / "peers-translation",
        python,
        setting,
        searches,
        config.alternations,
    )
    runs = [asdict(run) for run in comparison.runs]
    return _write(folder, "peers-translation", translation_markdown(comparison), runs)


QUALITIES = (5.6, 5.0)
"""Dev perplexities that are waited for."""


def benchmark_peer_quality(config: BenchmarkConfig) -> str:
    """Train all to a given quality; write and return the table, and draw the picture.

    Raises:
        UserError: a peer or its Python does not exist, a program failed, or there is no text.
    """
    python = _python(config)
    setting = replace(
        _setting(config, config.peer_training - PeerSetting.warm_up),
        dropout=0.3,
        label_smoothing=0.0,
        validate_every=config.peer_updates,
    )
    folder = Path(config.output)
    corpus = load_corpus(config.corpus, Path(config.data))
    precisions = _precisions()[-1:]  # the fastest
    comparison = compare_quality(
        config.peers, corpus, folder / "peers-quality", python, setting, precisions
    )
    draw_quality(comparison, folder / "peers-quality.png")
    table = quality_markdown(comparison, QUALITIES)
    return _write(folder, "peers-quality", table, comparison.records())


def _python(config: BenchmarkConfig) -> Path:
    """The peers' interpreter; refuses unknown peers, before anything is downloaded."""
    for name in config.peers:
        require_choice("peers", name, list(PEERS))
    python = Path(config.peers_python or sys.executable)
    if not python.is_file():
        raise UserError(
            f"There is no {python}; give peers_python=... the Python of the peers' environment."
        )
    return python


def _precisions() -> tuple[str, ...]:
    """Those worth comparing: without processor support bfloat16 only slows every program."""
    if choose_precision("auto", torch.device("cpu")) == torch.bfloat16:
        return PRECISIONS
    log.info("This processor is slow at bfloat16: only float32 is compared.")
    return tuple(precision for precision in PRECISIONS if precision != "bf16")


def _setting(config: BenchmarkConfig, updates: int) -> PeerSetting:
    if config.threads is not None:
        torch.set_num_threads(config.threads)  # the record names this process's
    return PeerSetting(
        updates=updates,
        threads=config.threads or torch.get_num_threads(),
        seed=config.seed,
    )


def _write(folder: Path, name: str, table: str, runs: list[dict[str, Any]]) -> str:
    """Write ``<name>.md`` and ``<name>.json``, with what they came about on; return the former."""
    environment = environment_record(torch.device("cpu"))
    table += f"- {describe_environment(environment)}\n"
    written = write_table(folder, name, table, {"runs": runs, "environment": environment})
    log.info("Table and timings: %s, %s", written, written.with_suffix(".json"))
    return table
