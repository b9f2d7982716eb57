"""Encoded pairs in flat memory-mapped arrays, and the corpus that they encode."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from jaxtyping import Int64, Integer

from seq2seq.data.text import Corpus
from seq2seq.data.tokenization import TextCodec


class EncodedPairs:
    """Sentence pairs as ids: one flat array per side, and the offsets of the sentences.

    Source ids end with EOS, so that no source has length 0; target ids have neither BOS nor EOS.
    The arrays may be memory-mapped; only the lengths, 8 bytes per pair, are in memory.
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


@dataclass(frozen=True)
class PreparedData:
    """Encoded corpus with its tokenizers, vocabularies and text files."""

    directory: Path
    """Folder of the encoded text."""
    corpus: Corpus
    """Text files of the training, validation and test sets."""
    source: TextCodec
    target: TextCodec
    max_pieces: int
    """Maximum number of pieces per side of a pair."""
    train: EncodedPairs
    valid: EncodedPairs
    skipped: dict[str, int]
    """``<train|valid>.<reason>`` -> number of pairs left out; reasons: ``empty`` (a side without
    pieces), ``max_words`` (train only), ``max_pieces``."""
    hashes: dict[str, str]
    """``<train|valid>.<source|target>`` -> SHA-256 of the unpacked text."""
