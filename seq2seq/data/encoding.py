"""From parallel text files to flat arrays of ids: choose pairs, tokenise, number, write.

The text streams through once: worker processes cut it into pieces, each new piece gets the next
provisional id, and only these ids are kept, on disk. When all text has been seen its pieces are
counted, a vocabulary can be made, and the ids are renumbered. No more than a few chunks of text are
ever in memory. This module stays free of torch, so that a worker starts quickly.
"""

import multiprocessing
import os
import sys
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np
from jaxtyping import Int, Int32, Integer
from numpy.lib import format as npy
from tqdm import tqdm

from seq2seq.data.parallel_text import ParallelText
from seq2seq.data.text import read_lines, word_count
from seq2seq.data.tokenization import Tokenizer
from seq2seq.errors import UserError

CHUNK = 1_000
"""Pairs a worker tokenises at a time."""
BLOCK = 1 << 18
"""Ids renumbered at a time."""
PROVISIONAL_END = -1
"""Stands for the end of a sentence in provisional ids; as an index, for the last final id."""


class Pair(NamedTuple):
    """One line of each side."""

    line: int
    """Line number in the files, from 1."""
    source: str
    target: str


def read_pairs(
    text: ParallelText, limit: int | None, max_words: int | None, skipped: Counter[str]
) -> Iterator[Pair]:
    """Yield the pairs worth tokenising among the first ``limit`` of ``text``.

    Pairs with a blank side, or with more than ``max_words`` words on a side, are left out and
    counted in ``skipped`` as ``empty`` and ``max_words``.

    Raises:
        UserError: one file has fewer lines than the other.
    """
    pairs = zip(read_lines(text.source), read_lines(text.target), strict=True)
    number = 0
    while limit is None or number < limit:
        try:
            source, target = next(pairs)
        except StopIteration:
            return
        except ValueError:
            raise UserError(
                f"{text.source} and {text.target} differ in length: one ends after line {number}; "
                "they must be translations line by line."
            ) from None
        number += 1
        words = word_count(source), word_count(target)
        if min(words) == 0:
            skipped["empty"] += 1
        elif max_words is not None and max(words) > max_words:
            skipped["max_words"] += 1
        else:
            yield Pair(number, source, target)


def sample(pairs: Iterable[Pair], total: int, limit: int) -> Iterator[Pair]:
    """Yield ``limit`` of ``total`` pairs, evenly spaced; all of them when there are fewer.

    Of fewer pairs than the ``total`` that was expected, their share is taken.
    """
    for i, pair in enumerate(pairs):
        if total <= limit or (i + 1) * limit // total > i * limit // total:
            yield pair


class Side(NamedTuple):
    """One side of a tokenised chunk."""

    pieces: list[str]
    """The distinct pieces of the chunk."""
    ids: Int32[np.ndarray, "X"]
    """The chunk's pieces in order, sentence after sentence, as indices into ``pieces``."""
    lengths: Int[np.ndarray, "N"]
    """Pieces per sentence."""


class Chunk(NamedTuple):
    """A tokenised run of pairs, small enough to send between processes."""

    lines: Int[np.ndarray, "N"]
    """Line numbers of the pairs kept."""
    source: Side
    target: Side
    empty: int
    """Pairs left out because a side had no pieces."""
    too_long: int
    """Pairs left out because a side had more than ``max_pieces`` pieces."""


def tokenize_chunk(
    pairs: Sequence[Pair], source: Tokenizer, target: Tokenizer, max_pieces: int
) -> Chunk:
    """Cut ``pairs`` into pieces and leave out those without any or with too many on a side."""
    lines, sources, targets = [], [], []
    empty = too_long = 0
    for pair in pairs:
        sides = source.tokenize(pair.source), target.tokenize(pair.target)
        lengths = len(sides[0]), len(sides[1])
        if min(lengths) == 0:
            empty += 1
        elif max(lengths) > max_pieces:
            too_long += 1
        else:
            lines.append(pair.line)
            sources.append(sides[0])
            targets.append(sides[1])
    return Chunk(np.array(lines, np.int64), _number(sources), _number(targets), empty, too_long)


def _number(sentences: list[list[str]]) -> Side:
    table: dict[str, int] = {}
    ids = [table.setdefault(piece, len(table)) for pieces in sentences for piece in pieces]
    lengths = np.array([len(pieces) for pieces in sentences], np.int64)
    return Side(list(table), np.array(ids, np.int32), lengths)


def tokenize_pairs(
    pairs: Iterable[Pair],
    source: Tokenizer,
    target: Tokenizer,
    max_pieces: int,
    workers: int,
    total: int,
    name: str,
) -> Iterator[Chunk]:
    """Tokenise ``pairs`` in order, in ``workers`` processes when more than one.

    ``total`` pairs at most are expected, for the progress bar called ``name``. Only a few chunks
    per worker are under way at any time, however long the text.
    """
    stream = iter(pairs)
    chunks = iter(lambda: list(islice(stream, CHUNK)), [])
    with tqdm(total=total, desc=name, unit=" pairs", unit_scale=True, disable=None) as bar:
        if workers == 1:
            for chunk in chunks:
                yield tokenize_chunk(chunk, source, target, max_pieces)
                bar.update(len(chunk))
            return
        # "spawn": a forked child could inherit the locks of torch's and tqdm's threads.
        context = multiprocessing.get_context("spawn")
        given = source, target, max_pieces  # sent once to each worker, not with each chunk
        with ProcessPoolExecutor(workers, context, _start_worker, given) as pool:
            under_way: deque[tuple[int, Future[Chunk]]] = deque()
            for chunk in chunks:
                with _script_hidden():  # workers start at a submission
                    under_way.append((len(chunk), pool.submit(_work, chunk)))
                if len(under_way) > 3 * workers:
                    count, job = under_way.popleft()
                    yield job.result()
                    bar.update(count)
            for count, job in under_way:
                yield job.result()
                bar.update(count)


@contextmanager
def _script_hidden() -> Iterator[None]:
    """Keep processes that start meanwhile from importing the script that runs.

    A spawned process imports its parent's main module, and with a script of this project torch:
    200 MB and seconds for each worker. Nothing that is sent to a worker is defined there.
    """
    script = vars(sys.modules["__main__"])
    kept: dict[str, Any] = {name: script[name] for name in {"__file__", "__spec__"} & script.keys()}
    script.update(dict.fromkeys(kept))
    try:
        yield
    finally:
        script.update(kept)


_given: tuple[Tokenizer, Tokenizer, int]  # set in worker processes only


def _start_worker(source: Tokenizer, target: Tokenizer, max_pieces: int) -> None:
    global _given
    _given = source, target, max_pieces


def _work(pairs: list[Pair]) -> Chunk:
    return tokenize_chunk(pairs, *_given)


def worker_count(configured: int | None, pairs: int, *tokenizers: Tokenizer) -> int:
    """Processes to tokenise with: one, unless there are pairs enough to repay starting more."""
    if pairs < min(tokenizer.worth_sharing for tokenizer in tokenizers):
        return 1
    if configured is not None:
        return configured
    if hasattr(os, "sched_getaffinity"):  # in a container, fewer than cpu_count() tells
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class GrowingArray:
    """A .npy file to append to; nothing of it stays in memory.

    The file can be loaded once :meth:`finish` has put the length into its header. NumPy pads the
    header, so that the longer one takes the place of the one that was there.
    """

    def __init__(self, path: Path, dtype: type[np.integer]) -> None:
        self._path = path
        self._dtype = np.dtype(dtype)
        self._length = 0
        with path.open("wb") as stream:
            self._write_header(stream)

    def __len__(self) -> int:
        """Count the elements so far."""
        return self._length

    def append(self, part: Integer[np.ndarray, "_"]) -> None:
        """Write ``part`` behind what is there."""
        with self._path.open("ab") as stream:
            part.astype(self._dtype, copy=False).tofile(stream)
        self._length += len(part)

    def finish(self) -> None:
        """Write the length down."""
        with self._path.open("r+b") as stream:
            self._write_header(stream)

    def _write_header(self, stream: BinaryIO) -> None:
        descr, shape = npy.dtype_to_descr(self._dtype), (self._length,)
        header = {"descr": descr, "fortran_order": False, "shape": shape}
        npy.write_array_header_1_0(stream, header)


class TokenIdWriter:
    """One side of a corpus on disk, first in provisional ids, then renumbered to a .npy file.

    In memory are the distinct pieces and a block of ids, whatever the length of the text.
    """

    def __init__(self, path: Path, end: int | None) -> None:
        """Begin ``<path>.npy`` and ``<path>.offsets.npy``.

        Args:
            path: without suffix. Sentence i of the flat array is ``[offsets[i], offsets[i + 1])``.
            end: id to put after each sentence; None for none.
        """
        self.pieces: dict[str, int] = {}
        """Every piece met so far -> its provisional id, in order of first occurrence."""
        self.counts: list[int] = []
        """Occurrences of each of ``pieces``, in their order."""
        self._path = path
        self._end = end
        self._scratch = path.with_name(path.name + ".ids")
        self._offsets = GrowingArray(path.with_name(path.name + ".offsets.npy"), np.int64)
        self._offsets.append(np.zeros(1, np.int64))
        self._total = 0

    def append(self, side: Side) -> None:
        """Add a chunk."""
        known = [self.pieces.setdefault(piece, len(self.pieces)) for piece in side.pieces]
        self.counts += [0] * (len(self.pieces) - len(self.counts))
        occurrences = np.bincount(side.ids, minlength=len(known)).tolist()
        for number, count in zip(known, occurrences, strict=True):
            self.counts[number] += count
        ids = np.array(known, np.int32)[side.ids]
        ends = np.cumsum(side.lengths)
        if self._end is not None:
            ids = np.insert(ids, ends, PROVISIONAL_END)
            ends += np.arange(1, len(ends) + 1)
        with self._scratch.open("ab") as stream:
            ids.tofile(stream)
        self._offsets.append(self._total + ends)
        self._total += len(ids)

    def most_frequent(self, size: int, least: int) -> dict[str, int]:
        """Occurrences of the ``size`` most frequent pieces and of all that equal the last of them.

        Pieces seen less than ``least`` times are left out. A long text has so many distinct words
        that ranking all of them would take several times the memory of knowing them.
        """
        if size < len(self.counts):
            least = max(least, int(np.partition(np.array(self.counts), -size)[-size]))
        pairs = zip(self.pieces, self.counts, strict=True)
        return {piece: count for piece, count in pairs if count >= least}

    def finish(self, final_ids: Sequence[int]) -> None:
        """Renumber block by block and drop the provisional ids.

        Args:
            final_ids: the id of each of ``pieces``, in their order. Ids below 65,536 are kept in
                two bytes each, others in four.
        """
        renumber = np.array([*final_ids, 0 if self._end is None else self._end], np.int32)
        short = renumber.max() <= np.iinfo(np.uint16).max
        flat = GrowingArray(
            self._path.with_name(self._path.name + ".npy"), np.uint16 if short else np.int32
        )
        with self._scratch.open("rb") as stream:
            while len(block := np.fromfile(stream, np.int32, BLOCK)):
                flat.append(renumber[block])
        flat.finish()
        self._offsets.finish()
        self._scratch.unlink()
