"""Convert text to pieces and ids and back, by SentencePiece subwords or whitespace."""

import io
import json
from collections.abc import Iterable, Sequence
from itertools import accumulate, takewhile
from pathlib import Path
from unicodedata import category, normalize

import sentencepiece

from seq2seq.config.settings import unspaced
from seq2seq.data.text import word_pattern
from seq2seq.data.vocabulary import BOS, EOS, PAD, Vocabulary
from seq2seq.errors import UserError
from seq2seq.files import parse_object

WORD_START = "▁"  # SentencePiece's sign for the space before a word
RESERVED = "▅"  # SentencePiece does not learn from a sentence with this character


class Tokenizer:
    """Splits text at white space, for text that is already tokenised; a piece is never empty."""

    kind = "whitespace"

    def __init__(self, language: str) -> None:
        self.language = language

    def tokenize(self, text: str) -> list[str]:
        return text.split()

    def tokenize_all(self, texts: Sequence[str]) -> list[list[str]]:
        return [self.tokenize(text) for text in texts]

    def detokenize(self, pieces: Sequence[str]) -> str:
        return " ".join(pieces)

    def words(self, pieces: Sequence[str]) -> list[int]:
        """Return the index, from 0, of each piece's word; here each piece is a word."""
        return list(range(len(pieces)))

    def save(self, directory: Path, side: str) -> None:
        """Write ``tokenizer.<side>.json``; ``side`` is "source" or "target"."""
        description = {"kind": self.kind, "language": self.language}
        text = json.dumps(description, ensure_ascii=False, indent=2) + "\n"
        (directory / f"tokenizer.{side}.json").write_text(text, encoding="utf-8", newline="\n")


class SentencePieceTokenizer(Tokenizer):
    """Cuts raw text into subwords (Kudo & Richardson 2018; byte pairs, Sennrich et al. 2016)."""

    kind = "sentencepiece"

    def __init__(self, language: str, model: bytes) -> None:
        super().__init__(language)
        self.model = model
        self._processor = sentencepiece.SentencePieceProcessor(model_proto=model)

    @classmethod
    def train_model(
        cls, sentences: Iterable[str], size: int, where: str, normalization: str = "nmt_nfkc"
    ) -> bytes:
        """Learn a model of ``size`` pieces, the four specials first; ``where`` names the text."""
        model = io.BytesIO()
        try:
            sentencepiece.SentencePieceTrainer.train(
                sentence_iterator=(_plain(text.replace(RESERVED, " ")) for text in sentences),
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
            reason = str(error).rpartition("] ")[2].rstrip(".") or "it has no text"
            raise UserError(
                f"SentencePiece cannot learn tokenization.vocabulary_size={size} pieces from "
                f"{where}: {reason}."
            ) from error
        return model.getvalue()

    @property
    def pieces(self) -> list[str]:
        """Pieces of the model in the order of their ids, the four specials first."""
        return [self._processor.id_to_piece(i) for i in range(len(self._processor))]

    def tokenize(self, text: str) -> list[str]:
        return list(self._processor.encode(_plain(text), out_type=str))

    def tokenize_all(self, texts: Sequence[str]) -> list[list[str]]:
        # SentencePiece divides the work among threads.
        return list(self._processor.encode([*map(_plain, texts)], out_type=str))

    def detokenize(self, pieces: Sequence[str]) -> str:
        return "".join(pieces).replace(WORD_START, " ").lstrip(" ")

    def words(self, pieces: Sequence[str]) -> list[int]:
        """Return the index of each piece's word; a single ``▁`` belongs to the next word, if any.

        Without spaces in a language that needs none, each piece is a word.
        """
        begun = [len(text.replace(WORD_START, " ").split()) for text in accumulate(pieces)]
        last = max(begun[-1] - 1, 0) if begun else 0
        if not last and unspaced(self.language):
            real = (bool(piece.strip(WORD_START)) for piece in pieces)
            return [*accumulate(real, initial=0)][: len(pieces)]
        words = [n - bool(piece.strip(WORD_START)) for n, piece in zip(begun, pieces, strict=True)]
        return [min(word, last) for word in words]

    def save(self, directory: Path, side: str) -> None:
        super().save(directory, side)
        (directory / f"tokenizer.{side}.model").write_bytes(self.model)


def _plain(text: str) -> str:
    """Text with single spaces."""
    return " ".join(text.replace(WORD_START, " ").split())


def _alike(text: str) -> list[str]:
    """Text that looks like ``text``: without what nobody sees, and in Unicode's normal forms."""
    hidden = {c for c in text if category(c) in ("Cc", "Cf") or c in "\u034f\u3164\ufe0e\ufe0f"}
    hidden -= {"\u200c", "\u200d"}  # some scripts need them
    seen = "".join(c for c in text if c not in hidden or c.isspace())
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
        """Return the ids of the pieces of ``text``, without BOS and EOS."""
        return self.vocabulary.encode(self.tokenizer.tokenize(text))

    def known_pieces(self, text: str) -> list[str]:
        """Cut typed text into pieces; an unknown word becomes a known form, if it has one.

        Forms have no characters that nobody sees, other accents, or other case; then punctuation
        around the word becomes pieces of its own. Subwords change if that makes more of them known.
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
        """Whether ``other`` cuts the training text into the same pieces, as their counts tell."""
        ours, theirs = (
            (codec.tokenizer.kind, codec.language, codec.vocabulary.pieces, codec.vocabulary.counts)
            for codec in (self, other)
        )
        return ours == theirs

    def save(self, directory: Path, side: str) -> None:
        """Write the files of the tokenizer, and ``vocabulary.<side>.tsv``."""
        self.tokenizer.save(directory, side)
        self.vocabulary.save(directory / f"vocabulary.{side}.tsv")

    @classmethod
    def load(cls, directory: Path, side: str) -> "TextCodec":
        vocabulary = Vocabulary.load(directory / f"vocabulary.{side}.tsv")
        path = directory / f"tokenizer.{side}.json"
        try:
            about = parse_object(path.read_bytes())
            tokenizer = Tokenizer(about["language"])
            if about["kind"] != Tokenizer.kind:
                path = path.with_suffix(".model")
                tokenizer = SentencePieceTokenizer(about["language"], path.read_bytes())
        except (OSError, ValueError, KeyError, RuntimeError) as error:
            raise UserError(f"{path} is damaged ({error}); copy the folder again.") from None
        return cls(tokenizer, vocabulary)
