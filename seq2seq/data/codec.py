"""One side's way from text to ids and back: a tokenizer and a vocabulary that belong together."""

from collections.abc import Sequence
from itertools import takewhile
from pathlib import Path

from seq2seq.data.tokenization import Tokenizer, load_tokenizer
from seq2seq.data.vocabulary import BOS, EOS, PAD, Vocabulary


class TextCodec:
    """Encodes text as ids and decodes ids to text, for the source or the target side."""

    def __init__(self, tokenizer: Tokenizer, vocabulary: Vocabulary) -> None:
        self.tokenizer = tokenizer
        self.vocabulary = vocabulary

    @property
    def language(self) -> str:
        """Language code of this side."""
        return self.tokenizer.language

    def encode(self, text: str) -> list[int]:
        """Ids of the pieces of ``text``, without BOS and EOS; blank text has none."""
        return self.vocabulary.encode(self.tokenizer.tokenize(text))

    def pieces(self, ids: Sequence[int]) -> list[str]:
        """Pieces up to the first EOS, without PAD and BOS; an unknown one reads ``<unk>``."""
        text = takewhile(lambda i: i != EOS, ids)
        return self.vocabulary.decode(i for i in text if i not in (PAD, BOS))

    def decode(self, ids: Sequence[int]) -> str:
        """Running text of the ids up to the first EOS."""
        return self.tokenizer.detokenize(self.pieces(ids))

    def encodes_like(self, other: "TextCodec") -> bool:
        """Whether ``other``, made of the same training text, gives text the same ids.

        Counts are compared, too: rules of cutting that changed may leave the pieces as they were.
        """
        return (
            type(self.tokenizer) is type(other.tokenizer)
            and self.language == other.language
            and self.vocabulary.pieces == other.vocabulary.pieces
            and self.vocabulary.counts == other.vocabulary.counts
        )

    def save(self, directory: Path, side: str) -> None:
        """Write ``tokenizer.<side>.json`` (and ``.model``) and ``vocabulary.<side>.tsv``.

        ``side`` is "source" or "target".
        """
        self.tokenizer.save(directory, side)
        self.vocabulary.save(directory / f"vocabulary.{side}.tsv")

    @classmethod
    def load(cls, directory: Path, side: str) -> "TextCodec":
        """Read back what :meth:`save` wrote.

        Raises:
            UserError: a file is missing or damaged.
        """
        return cls(
            load_tokenizer(directory, side), Vocabulary.load(directory / f"vocabulary.{side}.tsv")
        )
