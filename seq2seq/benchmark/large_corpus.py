"""A corpus of any size prepared, and gone through once in batches: time, and memory watched.

The text is a real corpus, read over and over. Repeated lines cost what new ones do, save that they
bring no new words.
"""

import logging
import os
import time
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from itertools import chain, islice, repeat
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from seq2seq.benchmark.large_corpus_report import CorpusRun, LargeCorpus
from seq2seq.benchmark.process_tree import run_watched
from seq2seq.config import BenchmarkConfig, FilesCorpus, TokenizationConfig
from seq2seq.data.batching import BatchPlan, collate
from seq2seq.data.corpora import load_corpus
from seq2seq.data.dataset import EncodedPairs
from seq2seq.data.parallel_text import SIDES, Corpus
from seq2seq.data.preparation import prepare
from seq2seq.data.text import read_lines, word_count, write_lines
from seq2seq.device import choose_device
from seq2seq.errors import UserError
from seq2seq.record import environment_record

log = logging.getLogger(__name__)


def benchmark_large_corpus(config: BenchmarkConfig) -> LargeCorpus:
    """Prepare ``config.corpus`` repeated to each of ``config.pairs``, and write the table.

    The text and what becomes of it lie in ``config.output`` meanwhile.

    Raises:
        UserError: no such corpus, or the vocabulary size does not fit.
    """
    if config.corpus.train_pairs is not None:
        raise UserError("pairs=[...] says how many pairs to prepare; leave out corpus.train_pairs.")
    text = load_corpus(config.corpus, Path(config.data))
    output = Path(config.output)
    output.mkdir(parents=True, exist_ok=True)
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else None
    measured = LargeCorpus(
        corpus=f"{text.kind} {text.source_language}-{text.target_language}",
        tokenization=config.tokenization,
        batch_size=max(config.batch_sizes),
        runs=[],
        load=load,
        environment=environment_record(choose_device("cpu")),
    )
    for pairs in config.pairs:
        with TemporaryDirectory(prefix="large-corpus-", dir=output) as work:
            run = _measure(pairs, text, Path(work), config)
        measured = replace(measured, runs=[*measured.runs, run])
        table = measured.write(output)  # each time: a corpus takes hours
        log.info(
            "%s pairs: table and figures in %s, %s", f"{pairs:,}", table, table.with_suffix(".json")
        )
    return measured


def _measure(pairs: int, text: Corpus, work: Path, config: BenchmarkConfig) -> CorpusRun:
    words = repeat_text(text, pairs, work / "text")
    corpus = FilesCorpus(
        source=text.source_language,
        target=text.target_language,
        directory=str(work / "text"),
        train_max_words=config.corpus.train_max_words,
    )
    prepared = run_watched(partial(_prepare, corpus, config.tokenization, work / "data"))
    epoch = run_watched(
        partial(_go_through, prepared.result.folder, max(config.batch_sizes), config.seed)
    )
    return CorpusRun(
        pairs=pairs,
        words=words,
        kept=epoch.result.pairs,
        pieces=prepared.result.pieces,
        text_bytes=_size(work / "text"),
        encoded_bytes=_size(prepared.result.folder),
        prepare_seconds=prepared.seconds,
        prepare_peak=prepared.peak,
        plan_seconds=epoch.result.plan_seconds,
        epoch_seconds=epoch.seconds,
        epoch_peak=epoch.peak,
    )


def repeat_text(text: Corpus, pairs: int, folder: Path) -> tuple[int, int]:
    """Write ``pairs`` training pairs, those of ``text`` over and over, as ``corpus=files`` reads.

    Returns:
        Words of the two sides' training text, separated by white space.
    """
    folder.mkdir(parents=True)
    words = []
    for side in SIDES:
        path: Path = getattr(text.train, side)
        lines = islice(chain.from_iterable(map(read_lines, repeat(path))), pairs)
        counted = _Words(lines)
        write_lines(folder / f"train.{side}", counted)
        words.append(counted.words)
        for split in ("valid", "test"):
            write_lines(folder / f"{split}.{side}", read_lines(getattr(text.valid, side)))
    return words[0], words[1]


class _Words:
    """Counts the words of the lines that it passes on."""

    def __init__(self, lines: Iterator[str]) -> None:
        self.words = 0
        self._lines = lines

    def __iter__(self) -> Iterator[str]:
        for line in self._lines:
            self.words += word_count(line)
            yield line


class _Prepared(NamedTuple):
    folder: Path
    pieces: tuple[int, int]
    """Of both sides of the training text, the ends of source sentences included."""


def _prepare(corpus: FilesCorpus, tokenization: TokenizationConfig, data: Path) -> _Prepared:
    prepared = prepare(corpus, tokenization, data)
    train = prepared.train
    return _Prepared(prepared.directory, (len(train.source_ids), len(train.target_ids)))


class _Epoch(NamedTuple):
    pairs: int
    plan_seconds: float


def _go_through(folder: Path, batch_size: int, seed: int) -> _Epoch:
    """Plan an epoch and pad each of its batches, as training does, but for the training."""
    train = EncodedPairs.load(folder, "train")
    start = time.perf_counter()
    batches = BatchPlan(train, batch_size, "sentences", seed).epoch(0)
    plan_seconds = time.perf_counter() - start
    for batch in batches:
        collate(train, batch)
    return _Epoch(sum(map(len, batches)), plan_seconds)


def _size(folder: Path) -> int:
    """Bytes of the files in a folder."""
    return sum(path.stat().st_size for path in folder.iterdir())
