"""Vocabulary of pieces, built on torchtext's ``Vocab`` and stored as a text file."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from seq2seq.errors import UserError

PAD, UNK, BOS, EOS = 0, 1, 2, 3
SPECIALS = ("<pad>", "<unk>", "<s>", "</s>")
LONGEST = 1_000  # characters of a piece; a longer one is unknown, and cannot fill a page


class Vocabulary:
    """Numbers the pieces of one side after ``<pad> <unk> <s> </s>``.

    A word of the text that is spelt like one of these is unknown.
    """

    def __init__(self, pieces: Sequence[str], counts: Sequence[int]) -> None:
        """Number ``pieces`` (without the specials) in the given order; ``counts`` are kept."""
        from torchtext.vocab import Vocab  # imports torch

        # Vocab would rank pieces by count; passed as specials, they keep their order.
        self._vocab = Vocab(Counter(), specials=[*SPECIALS, *pieces])
        if len(self._vocab.stoi) != len(self._vocab.itos):
            raise ValueError("a piece occurs twice")
        self._vocab.freqs.update(dict(zip(pieces, counts, strict=True)))

    @classmethod
    def from_counts(
        cls, counts: Mapping[str, int], size: int | None = None, min_frequency: int = 1
    ) -> "Vocabulary":
        """Rank pieces by count, then by code points; keep at most ``size``, specials included."""
        from torchtext.vocab import Vocab  # imports torch

        limit = None if size is None else max(size - len(SPECIALS), 0)
        known = Counter({piece: count for piece, count in counts.items() if len(piece) <= LONGEST})
        ranked = Vocab(known, limit, min_frequency, specials=list(SPECIALS))
        pieces = ranked.itos[len(SPECIALS) :]
        return cls(pieces, [counts[piece] for piece in pieces])

    def __contains__(self, piece: str) -> bool:
        return self.encode([piece]) != [UNK]

    def __len__(self) -> int:
        return len(self._vocab.itos)

    @property
    def pieces(self) -> list[str]:
        """Pieces in the order of ids."""
        return list(self._vocab.itos)

    @property
    def counts(self) -> list[int]:
        """Occurrences in the training text, in the order of ids; 0 for the specials."""
        return [self._vocab.freqs[piece] for piece in self._vocab.itos]

    def encode(self, pieces: Iterable[str]) -> list[int]:
        # `get`, not `[]`: stoi is a defaultdict and would grow by every unknown word.
        known = self._vocab.stoi.get
        return [i if (i := known(piece, UNK)) > EOS else UNK for piece in pieces]

    def decode(self, ids: Iterable[int]) -> list[str]:
        return [self._vocab.itos[i] for i in ids]

    def save(self, path: Path) -> None:
        """Write a line ``piece<TAB>count`` for each piece, in the order of ids."""
        rows = zip(self.pieces, self.counts, strict=True)
        lines = [f"{piece}\t{count}\n" for piece, count in rows]
        path.write_text("".join(lines), encoding="utf-8", newline="\n")

    @classmethod
    def load(cls, path: Path) -> "Vocabulary":
        try:
            # Bytes, not text mode: pieces may hold "\r" or U+2028, which do not end lines here.
            *lines, rest = path.read_bytes().decode("utf-8").split("\n")
            rows = [line.rpartition("\t") for line in lines]
            pieces, counts = [piece for piece, _, _ in rows], [int(count) for _, _, count in rows]
            fits = all(0 < len(piece) <= LONGEST for piece in pieces)
            if rest or tuple(pieces[: len(SPECIALS)]) != SPECIALS or not fits:
                raise ValueError(f"it must begin with {' '.join(SPECIALS)} and hold whole lines")
            return cls(pieces[len(SPECIALS) :], counts[len(SPECIALS) :])
        except ValueError as error:
            raise UserError(f"{path} is damaged ({error}); copy the folder again.") from None
