"""Encode parallel text as flat arrays of ids: choose pairs, cut into pieces, number, write."""

import io
from array import array
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from pathlib import Path

import numpy as np
from jaxtyping import Int32, Int64, Integer, Shaped
from tqdm import tqdm

from seq2seq.data.text import ParallelText, read_pairs, word_count
from seq2seq.data.tokenization import Tokenizer
from seq2seq.data.vocabulary import EOS, Vocabulary
from seq2seq.errors import UserError
from seq2seq.files import write_whole

CHUNK = 10_000
"""Number of pairs that are cut into pieces together."""
REASONS = {
    "empty": "with an empty side",
    "max_words": "longer than corpus.train_max_words",
    "max_pieces": "longer than tokenization.max_pieces",
}
"""Reason for leaving out a pair -> words for a message."""


def save_array(path: Path, array: Shaped[np.ndarray, "N"]) -> None:
    """Write an array as ``np.save`` does; on a full disk, the error has its number."""
    content = io.BytesIO()
    np.save(content, array)
    write_whole(path, content.getvalue())


class Side:
    """One side of a split, as numbers of pieces by first occurrence; the piece "" ends a source."""

    def __init__(self) -> None:
        self._numbers = {"": 0}
        self._pieces = array("I")
        self._lengths = [0]

    def append(self, pieces: Sequence[str]) -> None:
        """Number the pieces of a sentence."""
        known = self._numbers
        self._pieces.extend([known.setdefault(piece, len(known)) for piece in pieces])
        self._lengths.append(len(pieces))

    def counts(self) -> dict[str, int]:
        """Piece -> number of occurrences."""
        counts = np.bincount(self._pieces, minlength=len(self._numbers)).tolist()
        return dict(zip([*self._numbers][1:], counts[1:], strict=True))

    def save(self, path: Path, vocabulary: Vocabulary) -> None:
        """Write ids to ``path``.npy, and where sentences start to ``path``.offsets.npy."""
        ids = np.array([EOS, *vocabulary.encode([*self._numbers][1:])], np.int32)
        ids = ids.astype(np.uint16 if ids.max() < 1 << 16 else np.int32)
        save_array(Path(f"{path}.npy"), ids[np.asarray(self._pieces)])
        save_array(Path(f"{path}.offsets.npy"), np.cumsum(self._lengths, dtype=np.int64))


@dataclass(frozen=True)
class Split:
    """A split of a corpus, and the limits that select its pairs."""

    name: str
    text: ParallelText
    languages: tuple[str, str]
    max_pieces: int
    limit: int | None = None
    max_words: int | None = None

    def pairs(self, skipped: Counter[str]) -> Iterator[tuple[int, str, str]]:
        """Yield (line from 1, source, target); count what is left out in ``skipped``."""
        lines = islice(read_pairs(self.text.source, self.text.target), self.limit)
        for number, pair in enumerate(lines, start=1):
            words = [word_count(*side) for side in zip(pair, self.languages, strict=True)]
            if min(words) and max(words) <= (self.max_words or max(words)):
                yield number, *pair
            else:
                skipped["max_words" if min(words) else "empty"] += 1

    def cut(
        self, tokenizers: Sequence[Tokenizer]
    ) -> tuple[list[Side], Int64[np.ndarray, "N"], dict[str, int]]:
        """Return both sides, the lines of the pairs, and how many were left out for each reason."""
        sides, lines, skipped = [Side(), Side()], list[int](), Counter[str]()
        pairs = iter(tqdm(self.pairs(skipped), f"encoding {self.name}", disable=None))
        while chunk := list(islice(pairs, CHUNK)):
            numbers, *texts = zip(*chunk, strict=True)
            pieces = [one.tokenize_all(text) for one, text in zip(tokenizers, texts, strict=True)]
            for number, source, target in zip(numbers, *pieces, strict=True):
                sizes = len(source), len(target)
                if min(sizes) and max(sizes) <= self.max_pieces:
                    lines.append(number)
                    sides[0].append([*source, ""])
                    sides[1].append(target)
                else:
                    skipped["max_pieces" if min(sizes) else "empty"] += 1
        if not lines:
            why = ", ".join(f"{skipped[reason]:,} {words}" for reason, words in REASONS.items())
            raise UserError(
                f"All {self.name} pairs of {self.text.source} and {self.text.target} were filtered "
                f"out ({why}); correct the files or raise the limits."
            )
        left_out = {f"{self.name}.{reason}": skipped[reason] for reason in REASONS}
        return sides, np.array(lines, np.int64), left_out


@dataclass(frozen=True)
class EncodedPairs:
    """Sentence pairs as ids; source i is ``source_ids[source_offsets[i]:source_offsets[i + 1]]``.

    Each source ends with EOS; the targets have neither BOS nor EOS.
    """

    source_ids: Integer[np.ndarray, "X"]
    source_offsets: Int64[np.ndarray, "N1"]
    target_ids: Integer[np.ndarray, "Y"]
    target_offsets: Int64[np.ndarray, "N1"]
    line_numbers: Int64[np.ndarray, "N"]

    @classmethod
    def load(cls, directory: Path, name: str) -> "EncodedPairs":
        """Map the arrays of "train" or "valid" in a prepared folder."""
        parts = ("source", "source.offsets", "target", "target.offsets", "lines")
        mapped = (np.load(directory / f"{name}.{part}.npy", mmap_mode="r") for part in parts)
        # Plain views: indexing numpy.memmap itself is several times slower.
        return cls(*map(np.asarray, mapped))

    @cached_property
    def source_lengths(self) -> Int32[np.ndarray, "N"]:
        return np.diff(self.source_offsets).astype(np.int32)

    @cached_property
    def target_lengths(self) -> Int32[np.ndarray, "N"]:
        return np.diff(self.target_offsets).astype(np.int32)

    def __len__(self) -> int:
        return len(self.line_numbers)
