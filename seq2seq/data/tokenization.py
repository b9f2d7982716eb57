"""Convert text to pieces and ids and back: SentencePiece subwords, or words between spaces.

A tokenizer belongs to one side of a corpus. It also joins pieces to text, so that hypotheses are
scored as running text. No tokenizer returns an empty piece.
"""

import io
import json
import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate, takewhile
from pathlib import Path
from typing import ClassVar
from unicodedata import category, normalize

import sentencepiece

from seq2seq.config.evaluation import unspaced
from seq2seq.data.text import word_pattern
from seq2seq.data.vocabulary import BOS, EOS, PAD, Vocabulary
from seq2seq.errors import UserError, VocabularySizeError
from seq2seq.files import parse_object

WORD_START = "▁"  # SentencePiece's sign for the space before a word
RESERVED = "▅"  # SentencePiece does not learn from a sentence with this character
LEARNT_BYTES = 4_192
"""Maximum length, in bytes, of a sentence that SentencePiece learns from."""


class Tokenizer(ABC):
    """Cuts one side's text into pieces and joins pieces to text."""

    kind: ClassVar[str]
    """Name in ``tokenization.kind``."""

    def __init__(self, language: str) -> None:
        self.language = language

    @abstractmethod
    def tokenize(self, text: str) -> list[str]:
        """Cut ``text`` into pieces; blank text has no pieces."""

    @abstractmethod
    def detokenize(self, pieces: Sequence[str]) -> str:
        """Join ``pieces`` to running text."""

    def words(self, pieces: Sequence[str]) -> list[int]:
        """Return the index, from 0, of each piece's word; here each piece is a word."""
        return list(range(len(pieces)))

    def save(self, directory: Path, side: str) -> None:
        """Write ``tokenizer.<side>.json``; ``side`` is "source" or "target"."""
        description = {"kind": self.kind, "language": self.language}
        text = json.dumps(description, ensure_ascii=False, indent=2) + "\n"
        (directory / f"tokenizer.{side}.json").write_text(text, encoding="utf-8", newline="\n")


class WhitespaceTokenizer(Tokenizer):
    """Splits text at white space, for text that is already tokenised."""

    kind = "whitespace"

    def tokenize(self, text: str) -> list[str]:
        return text.split()

    def detokenize(self, pieces: Sequence[str]) -> str:
        return " ".join(pieces)


class SentencePieceTokenizer(Tokenizer):
    """Cuts raw text into subwords (Kudo & Richardson 2018; byte pairs, Sennrich et al. 2016).

    Before text is cut, white space and ``▁`` become single spaces, and the model's rule normalises
    the text. Rule ``identity`` keeps all other characters. Rule ``nmt_nfkc`` converts to NFKC and
    removes control characters (except U+0000 and most from U+0080 to U+009F). Joining returns the
    normalised text. Characters that training did not see become pieces that are not in the model; a
    vocabulary maps them to ``<unk>``.
    """

    kind = "sentencepiece"

    def __init__(self, language: str, model: bytes) -> None:
        super().__init__(language)
        self.model = model
        """Model file of SentencePiece, as bytes."""
        self._processor = sentencepiece.SentencePieceProcessor(model_proto=model)

    @classmethod
    def train_model(
        cls, sentences: Iterable[str], size: int, where: str, normalization: str = "nmt_nfkc"
    ) -> bytes:
        """Learn a model of exactly ``size`` pieces, specials included; return its file as bytes.

        Equal text makes an equal model. The model learns from sentences of any length. No piece has
        U+2585 in it. Ids 0-3 are the specials of :mod:`seq2seq.data.vocabulary`. ``where`` names
        the text in messages. ``normalization`` is a rule of SentencePiece; the model stores
        it. UserError if ``size`` is too large for the text or too small for its characters.
        """
        model = io.BytesIO()
        try:
            sentencepiece.SentencePieceTrainer.train(
                sentence_iterator=_learnable(sentences),
                model_writer=model,
                model_type="bpe",
                vocab_size=size,
                character_coverage=1.0,
                byte_fallback=False,
                normalization_rule_name=normalization,
                pad_id=0,
                unk_id=1,
                bos_id=2,
                eos_id=3,
                num_threads=4,  # fixed, because the model file stores it and must be reproducible
                minloglevel=2,
            )
        except RuntimeError as error:
            raise _complaint(str(error), size, where) from error
        return model.getvalue()

    @property
    def pieces(self) -> list[str]:
        """Pieces of the model in the order of their ids, the four specials first."""
        processor = self._processor
        return [processor.id_to_piece(i) for i in range(processor.get_piece_size())]

    def tokenize(self, text: str) -> list[str]:
        """Normalise ``text`` and cut it into pieces; ``▁`` stands for the space before a word."""
        words = text.replace(WORD_START, " ").split()
        pieces: list[str] = self._processor.encode(" ".join(words), out_type=str)
        return pieces

    def detokenize(self, pieces: Sequence[str]) -> str:
        return "".join(pieces).replace(WORD_START, " ").lstrip(" ")

    def words(self, pieces: Sequence[str]) -> list[int]:
        """Return for each piece the index, from 0, of its word in the joined text.

        A single ``▁`` belongs to the next word or, at the end of the text, to the last word. If the
        text has no spaces and its language needs none between words, each piece is a word.
        """
        found: list[int] = []
        word, begun = 0, False
        for piece in pieces:
            if begun and piece.startswith(WORD_START):
                word, begun = word + 1, False
            begun = begun or bool(piece.strip(WORD_START))
            found.append(word)
        last = word if begun else max(word - 1, 0)
        if not last and unspaced(self.language):
            real = (bool(piece.strip(WORD_START)) for piece in pieces)
            return [*accumulate(real, initial=0)][: len(pieces)]
        return [min(word, last) for word in found]

    def save(self, directory: Path, side: str) -> None:
        super().save(directory, side)
        (directory / f"tokenizer.{side}.model").write_bytes(self.model)


def load_tokenizer(directory: Path, side: str) -> Tokenizer:
    """Load the tokenizer of a side; UserError if a file is missing or damaged."""
    path = directory / f"tokenizer.{side}.json"
    try:
        description = parse_object(path.read_bytes())
        kind, language = description["kind"], str(description["language"])
        if kind == WhitespaceTokenizer.kind:
            return WhitespaceTokenizer(language)
        if kind != SentencePieceTokenizer.kind:
            raise ValueError("it is of no kind")
        path = directory / f"tokenizer.{side}.model"
        model = path.read_bytes()
        if not model:  # SentencePiece would treat it as no model
            raise ValueError("it is empty")
        tokenizer = SentencePieceTokenizer(language, model)
        tokenizer.tokenize(" ".join(tokenizer.pieces))  # fails if a piece is not text
        return tokenizer
    except FileNotFoundError:
        raise UserError(f"{path} is missing; create or copy the folder again.") from None
    except (ValueError, TypeError, KeyError, RuntimeError):
        raise UserError(f"{path} is damaged; create or copy the folder again.") from None


def _learnable(sentences: Iterable[str]) -> Iterator[str]:
    """Yield the sentences; split those that are so long that SentencePiece would skip them.

    SentencePiece learns nothing across words, so a long sentence may be split between words. If
    :data:`LEARNT_BYTES` bytes hold no space, the sentence is split between two characters.
    """
    for sentence in sentences:
        words = re.sub(f"[{RESERVED}{WORD_START}]", " ", sentence).split()
        rest = " ".join(words).encode("utf-8")
        while len(rest) > LEARNT_BYTES:
            cut = rest.rfind(b" ", 1, LEARNT_BYTES + 1)
            if cut < 0:
                cut = LEARNT_BYTES
                while rest[cut] & 0xC0 == 0x80:  # inside a character
                    cut -= 1
            yield rest[:cut].decode("utf-8")
            rest = rest[cut:]
        yield rest.decode("utf-8")


def _complaint(message: str, size: int, where: str) -> UserError:
    """Convert an error message of SentencePiece to a UserError that names the setting."""
    if largest := re.search(r"size too high .* value <= (\d+)", message):
        error = VocabularySizeError(
            f"tokenization.vocabulary_size={size} is more than {where} can fill; "
            f"set it to {largest[1]} or less."
        )
        error.possible = int(largest[1])
        return error
    if smallest := re.search(r"smaller than required_chars\. \d+ vs (\d+)", message):
        error = VocabularySizeError(
            f"tokenization.vocabulary_size={size} is too small for the characters of {where}; "
            f"set it to {smallest[1]} or more."
        )
        error.possible = int(smallest[1])
        return error
    if "sentences_.empty()" in message or "all_chars_count" in message:
        return UserError(
            f"{where} has no sentence for the subword model; add text, or raise "
            "corpus.train_max_words if it is set."
        )
    return UserError(f"SentencePiece cannot learn from {where} ({message}); correct the text.")


def _alike(text: str) -> list[str]:
    """Text that looks like ``text``: without what nobody sees, and in Unicode's normal forms.

    U+200C and U+200D stay, because some scripts need them.
    """
    hidden = {c for c in text if category(c) in ("Cc", "Cf") or c in "\u034f\u3164\ufe0e\ufe0f"}
    seen = "".join(c for c in text if c not in hidden or c in "\u200c\u200d" or c.isspace())
    return [seen, *(normalize(form, seen) for form in ("NFC", "NFD", "NFKC"))]


class TextCodec:
    """Converts text to ids and ids to text, for the source or the target side."""

    def __init__(self, tokenizer: Tokenizer, vocabulary: Vocabulary) -> None:
        self.tokenizer = tokenizer
        self.vocabulary = vocabulary

    @property
    def language(self) -> str:
        return self.tokenizer.language

    def encode(self, text: str) -> list[int]:
        """Return the ids of the pieces of ``text``, without BOS and EOS; [] for blank text."""
        return self.vocabulary.encode(self.tokenizer.tokenize(text))

    def known_pieces(self, text: str) -> list[str]:
        """Cut typed text into pieces; an unknown word becomes a known form, if it has one.

        The word is tried without characters that nobody sees, with its accents in one character or
        in two, in lower case and capitalised. If all are unknown, the punctuation at the ends of
        the word is cut off: each mark becomes a piece, and the rest is tried again. A word of which
        no part is known does not change. Subwords change only if they are known without what
        nobody sees.
        """
        pieces = self.tokenizer.tokenize(text)
        if not isinstance(self.tokenizer, SentencePieceTokenizer):
            return [known for piece in pieces for known in self._known_forms(piece)]
        if all(piece in self.vocabulary for piece in pieces):
            return pieces
        ways = [pieces, *map(self.tokenizer.tokenize, _alike(text))]
        return min(ways, key=lambda way: sum(piece not in self.vocabulary for piece in way))

    def _known_forms(self, word: str) -> list[str]:
        ways = (word, *_alike(word))
        forms = (form for way in ways for form in (way, way.lower(), way.capitalize()))
        if known := next((form for form in forms if form in self.vocabulary), None):
            return [known]
        inside = [found.span() for found in word_pattern().finditer(word)] or [(0, 0)]
        start, end = inside[0][0], inside[-1][1]
        if not 0 < end - start < len(word):
            return [word]
        parts = [*word[:start], *self._known_forms(word[start:end]), *word[end:]]
        return parts if any(part in self.vocabulary for part in parts) else [word]

    def pieces(self, ids: Sequence[int]) -> list[str]:
        """Return the pieces up to the first EOS, without PAD and BOS; UNK becomes ``<unk>``."""
        before_end = takewhile(lambda i: i != EOS, ids)
        return self.vocabulary.decode(i for i in before_end if i not in (PAD, BOS))

    def decode(self, ids: Sequence[int]) -> str:
        """Return the running text of the ids up to the first EOS."""
        return self.tokenizer.detokenize(self.pieces(ids))

    def encodes_like(self, other: "TextCodec") -> bool:
        """Whether ``other``, built from the same training text, encodes that text as the same ids.

        Counts are compared too, because a change in the rules of cutting may change only the
        counts, and not the set of pieces.
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
        """Load the files of :meth:`save`; UserError if one is missing or damaged."""
        return cls(
            load_tokenizer(directory, side), Vocabulary.load(directory / f"vocabulary.{side}.tsv")
        )
