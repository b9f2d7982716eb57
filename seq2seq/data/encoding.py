"""Encode parallel text files as flat arrays of ids: choose pairs, tokenise, number, write.

The text is cut into pieces only once; worker processes share a long text. Each new piece gets the
next free number as its provisional id, and these ids are written to disk. At the end, the counts
of all pieces are known, so a vocabulary can be built. Then the ids are renumbered. Memory holds
only a few chunks of text at a time. This module does not import torch, so that a worker starts
quickly.
"""

import multiprocessing
import os
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from functools import partial
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import numpy as np
from jaxtyping import Int, Int32, Int64, Integer
from tqdm import tqdm

from seq2seq.data.text import ParallelText, read_pairs, word_count
from seq2seq.data.tokenization import Tokenizer
from seq2seq.errors import UserError
from seq2seq.interruption import follow_parent

CHUNK = 1_000
"""Number of pairs that a worker tokenises at a time."""
WORTH_SHARING = 200_000
"""Minimum number of pairs for which worker processes save more time than their start costs."""
BLOCK = 1 << 18
"""Number of ids renumbered at a time."""
PROVISIONAL_END = -1
"""Provisional id of the end of a sentence. As an index, -1 selects the last entry of the table of
final ids; this entry is the final id of the end."""


class Pair(NamedTuple):
    """A sentence pair as text."""

    line: int
    """Line number in the files, from 1."""
    source: str
    target: str


def choose_pairs(
    text: ParallelText,
    limit: int | None,
    max_words: int | None,
    skipped: Counter[str],
    languages: tuple[str, str],
) -> Iterator[Pair]:
    """Of the first ``limit`` pairs of ``text``, yield those without a blank or too long side.

    ``skipped["empty"]`` counts the pairs with a blank side. ``skipped["max_words"]`` counts the
    pairs with more than ``max_words`` words on a side.
    """
    lines = islice(read_pairs(text.source, text.target), limit)
    for number, (source, target) in enumerate(lines, start=1):
        words = word_count(source, languages[0]), word_count(target, languages[1])
        if min(words) == 0:
            skipped["empty"] += 1
        elif max_words is not None and max(words) > max_words:
            skipped["max_words"] += 1
        else:
            yield Pair(number, source, target)


def subsample_pairs(pairs: Iterable[Pair], total: int, limit: int) -> Iterator[Pair]:
    """Yield ``limit`` of ``total`` pairs, evenly spaced; all pairs if ``total`` is smaller."""
    for i, pair in enumerate(pairs):
        if total <= limit or (i + 1) * limit // total > i * limit // total:
            yield pair


class Side(NamedTuple):
    """One side of a tokenised chunk."""

    pieces: list[str]
    """Distinct pieces of the chunk."""
    ids: Int32[np.ndarray, "X"]
    """Pieces of all sentences, one after the other, as indices into ``pieces``."""
    lengths: Int[np.ndarray, "N"]
    """Number of pieces per sentence."""


class Chunk(NamedTuple):
    """Consecutive tokenised pairs, few enough to send between processes."""

    lines: Int[np.ndarray, "N"]
    """Line numbers of the pairs that were not skipped."""
    source: Side
    target: Side
    skipped: Counter[str]
    """Number of pairs left out because a side has no pieces (``empty``) or too many
    (``max_pieces``)."""


def tokenize_chunk(
    pairs: Sequence[Pair], source: Tokenizer, target: Tokenizer, max_pieces: int
) -> Chunk:
    """Cut ``pairs`` into pieces; skip a pair if a side has none or more than ``max_pieces``."""
    lines, sources, targets = [], [], []
    skipped: Counter[str] = Counter()
    for pair in pairs:
        sides = source.tokenize(pair.source), target.tokenize(pair.target)
        lengths = len(sides[0]), len(sides[1])
        if min(lengths) == 0:
            skipped["empty"] += 1
        elif max(lengths) > max_pieces:
            skipped["max_pieces"] += 1
        else:
            lines.append(pair.line)
            sources.append(sides[0])
            targets.append(sides[1])
    return Chunk(np.array(lines, np.int64), _number(sources), _number(targets), skipped)


def _number(sentences: list[list[str]]) -> Side:
    table: dict[str, int] = {}
    ids = [table.setdefault(piece, len(table)) for pieces in sentences for piece in pieces]
    lengths = np.array([len(pieces) for pieces in sentences], np.int64)
    return Side(list(table), np.array(ids, np.int32), lengths)


GUARD = 'In a script of your own, call seq2seq only below: if __name__ == "__main__":.'
"""Why a script without it cannot use several processes: each of them runs the script again."""


def tokenize_pairs(
    pairs: Iterable[Pair],
    source: Tokenizer,
    target: Tokenizer,
    max_pieces: int,
    workers: int | None,
    total: int,
    name: str,
) -> Iterator[Chunk]:
    """Tokenise ``pairs`` in order, in ``workers`` processes (None: one per CPU core).

    ``pairs`` has at most ``total`` pairs. If ``total`` is below :data:`WORTH_SHARING`, this
    process does all the work. The progress bar shows ``name`` and ``total``. Memory holds only a
    few chunks per worker at a time. UserError if a worker is killed or fails at its start.
    """
    stream = iter(tqdm(pairs, f"encoding {name}", total, unit_scale=True, disable=None))
    chunks = iter(lambda: list(islice(stream, CHUNK)), [])
    given = source, target, max_pieces
    # In a container, there may be fewer cores than cpu_count() returns.
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    workers = workers or cores or 1
    if workers == 1 or total < WORTH_SHARING:
        yield from (tokenize_chunk(chunk, *given) for chunk in chunks)
        return
    # "spawn": a forked child could inherit the locks of torch's and tqdm's threads.
    context = multiprocessing.get_context("spawn")
    try:
        with ProcessPoolExecutor(workers, context, _start_worker, given) as pool:
            under_way: deque[Future[Chunk]] = deque()
            for chunk in chunks:
                under_way.append(pool.submit(_work, chunk))
                if len(under_way) > 3 * workers:
                    yield under_way.popleft().result()
            while under_way:
                yield under_way.popleft().result()
    except BrokenProcessPool as error:
        raise UserError(
            f"A process that tokenised the {name} text ended early, often for lack of memory; free "
            f"some memory, or set tokenization.workers lower than {workers}. {GUARD}"
        ) from error


_given: tuple[Tokenizer, Tokenizer, int]  # set in worker processes only


def _start_worker(source: Tokenizer, target: Tokenizer, max_pieces: int) -> None:
    global _given
    _given = source, target, max_pieces
    follow_parent()


def _work(pairs: list[Pair]) -> Chunk:
    return tokenize_chunk(pairs, *_given)


def save_array(
    path: Path, length: int, blocks: Iterable[np.ndarray], kind: type[np.integer] = np.int64
) -> None:
    """Write ``blocks``, which have ``length`` numbers in all, to one file as ``np.save`` would.

    On a full disk, the OSError of ``np.save`` has no error number, and writing to a mapped file
    kills the process. The OSError of this function has its number.
    """
    header = {"descr": np.dtype(kind).str, "fortran_order": False, "shape": (length,)}
    with path.open("wb") as stream:
        np.lib.format.write_array_header_1_0(stream, header)
        for block in blocks:
            stream.write(block.astype(kind, copy=False).data)


class TokenIdWriter:
    """Writes one side of a text as ids; they are provisional until :meth:`finish` is called.

    Memory holds the distinct pieces, a block of ids and the length of each sentence.
    """

    def __init__(self, path: Path, end: int | None) -> None:
        """Set the names of the two files: ``<path>.npy`` (ids) and ``<path>.offsets.npy``.

        Sentence i is ``ids[offsets[i]:offsets[i + 1]]``; its last id is ``end``, if not None.
        """
        self.pieces: dict[str, int] = {}
        """Piece -> provisional id, in order of first occurrence."""
        self.counts: Counter[str] = Counter()
        """Piece -> number of occurrences."""
        self._path = path
        self._end = end
        self._scratch = path.with_name(f"{path.name}.ids")
        self._lengths = [np.zeros(1, np.int32)]

    def append(self, side: Side) -> None:
        known = [self.pieces.setdefault(piece, len(self.pieces)) for piece in side.pieces]
        occurrences = np.bincount(side.ids, minlength=len(known)).tolist()
        for piece, count in zip(side.pieces, occurrences, strict=True):
            self.counts[piece] += count
        ids = np.array(known, np.int32)[side.ids]
        if self._end is not None:
            ids = np.insert(ids, np.cumsum(side.lengths), PROVISIONAL_END)
        with self._scratch.open("ab") as stream:
            stream.write(ids)
        self._lengths.append((side.lengths + (self._end is not None)).astype(np.int32))

    def finish(self, final_ids: Sequence[int]) -> None:
        """Write the final ids and the offsets; delete the file of provisional ids.

        ``final_ids[i]`` replaces the provisional id i. Each id takes two bytes if all final ids are
        below 65,536, otherwise four. The ids are written block by block.
        """
        renumber = np.array([*final_ids, 0 if self._end is None else self._end], np.int32)
        offsets = np.concatenate(self._lengths).cumsum(dtype=np.int64)
        save_array(self._path.with_name(f"{self._path.name}.offsets.npy"), len(offsets), [offsets])
        kind = np.uint16 if renumber.max() <= np.iinfo(np.uint16).max else np.int32
        with self._scratch.open("rb") as stream:
            blocks = iter(partial(stream.read, BLOCK * np.dtype(np.int32).itemsize), b"")
            ids = (renumber[np.frombuffer(block, np.int32)] for block in blocks)
            save_array(self._path.with_name(f"{self._path.name}.npy"), int(offsets[-1]), ids, kind)
        self._scratch.unlink()


class EncodedPairs:
    """Sentence pairs as ids: one flat array per side, and the offsets of the sentences.

    Each source ends with EOS; the targets have neither BOS nor EOS.
    The arrays may be memory-mapped; then memory holds only the lengths, 8 bytes per pair.
    """

    def __init__(
        self,
        source_ids: Integer[np.ndarray, "X"],
        source_offsets: Int64[np.ndarray, "N1"],
        target_ids: Integer[np.ndarray, "Y"],
        target_offsets: Int64[np.ndarray, "N1"],
        line_numbers: Int64[np.ndarray, "N"],
    ) -> None:
        """Store the arrays; source i is ``source_ids[source_offsets[i]:source_offsets[i + 1]]``.

        ``line_numbers`` are the line numbers of the pairs in the corpus files, from 1.
        """
        # Plain views of the mapped memory: indexing numpy.memmap itself is several times slower.
        self.source_ids = np.asarray(source_ids)
        self.source_offsets = np.asarray(source_offsets)
        self.target_ids = np.asarray(target_ids)
        self.target_offsets = np.asarray(target_offsets)
        self.line_numbers = np.asarray(line_numbers)
        self.source_lengths = np.diff(self.source_offsets).astype(np.int32)
        """Number of source pieces per pair, EOS included."""
        self.target_lengths = np.diff(self.target_offsets).astype(np.int32)
        """Number of target pieces per pair, without BOS and EOS."""

    @classmethod
    def load(cls, directory: Path, name: str) -> "EncodedPairs":
        """Map the arrays of "train" or "valid" in a prepared folder."""
        parts = ("source", "source.offsets", "target", "target.offsets", "lines")
        return cls(*(np.load(directory / f"{name}.{part}.npy", mmap_mode="r") for part in parts))

    def __len__(self) -> int:
        return len(self.line_numbers)
