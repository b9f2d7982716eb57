"""Which parallel text, and how it becomes ids."""

from dataclasses import dataclass

from seq2seq.config.checks import require_choice, require_range
from seq2seq.errors import UserError

LANGUAGES_OF_MULTI30K = ("en", "de", "fr")


@dataclass(kw_only=True)
class CorpusConfig:
    """Where parallel text comes from; one subclass per kind of corpus."""

    kind: str
    """grammar | multi30k | europarl | files."""
    source: str
    """Language code of the source side."""
    target: str
    """Language code of the target side."""
    directory: str | None = None
    """Folder that already holds the corpus files (plain, .gz or .xz); nothing is downloaded."""
    mirror: str | None = None
    """Base URL (http, https or file) to download from instead of the public one."""
    train_pairs: int | None = None
    """Train on the first so many pairs only; null for all."""
    train_max_words: int | None = None
    """Leave out training pairs with a side of more words (the paper's -30 and -50 systems).

    Never applied to validation or test text."""

    def __post_init__(self) -> None:
        require_range("corpus.train_pairs", self.train_pairs, 1)
        require_range("corpus.train_max_words", self.train_max_words, 1)
        if self.source == self.target:
            raise UserError(
                f"corpus.source and corpus.target are both {self.source}; name two languages."
            )


@dataclass(kw_only=True)
class GrammarCorpus(CorpusConfig):
    """The embedded English-German grammar: no download, any size, gold alignments."""

    kind: str = "grammar"
    source: str = "en"
    target: str = "de"
    seed: int = 1
    """Seed of the text itself, apart from the seed of the training."""
    train: int = 160_000
    """Training pairs."""
    valid: int = 1_000
    """Validation pairs, of the training distribution of lengths."""
    test_per_bucket: int = 200
    """Test pairs in each band of ten source words (1-10, 11-20, ..., up to max_words)."""
    max_words: int = 70
    """The longest source sentence written, in words."""

    def __post_init__(self) -> None:
        super().__post_init__()
        require_choice("corpus.source", self.source, ("en", "de"))
        require_choice("corpus.target", self.target, ("en", "de"))
        require_range("corpus.train", self.train, 1)
        require_range("corpus.valid", self.valid, 1)
        require_range("corpus.test_per_bucket", self.test_per_bucket, 1)
        require_range("corpus.max_words", self.max_words, 10, 120)


@dataclass(kw_only=True)
class Multi30kCorpus(CorpusConfig):
    """Multi30k image captions (Elliott et al. 2016): 29,000 short pairs."""

    kind: str = "multi30k"
    source: str = "de"
    target: str = "en"

    def __post_init__(self) -> None:
        super().__post_init__()
        require_choice("corpus.source", self.source, LANGUAGES_OF_MULTI30K)
        require_choice("corpus.target", self.target, LANGUAGES_OF_MULTI30K)


@dataclass(kw_only=True)
class EuroparlCorpus(CorpusConfig):
    """Europarl v7 (Koehn 2005), English-French: the long sentences of the paper's own corpus."""

    kind: str = "europarl"
    source: str = "en"
    target: str = "fr"
    max_words: int = 100
    """Cleaning: drop pairs with a side of more words (from every split of the raw archive)."""
    max_ratio: float = 3.0
    """Cleaning: drop pairs whose word counts differ by more than this factor."""
    valid_pairs: int = 2_000
    """Validation pairs, chosen by content hash."""
    test_pairs: int = 4_000
    """Test pairs, chosen by content hash."""

    def __post_init__(self) -> None:
        super().__post_init__()
        require_choice("corpus.source", self.source, ("en", "fr"))
        require_choice("corpus.target", self.target, ("en", "fr"))
        require_range("corpus.max_words", self.max_words, 1)
        require_range("corpus.max_ratio", self.max_ratio, 1)
        require_range("corpus.valid_pairs", self.valid_pairs, 1)
        require_range("corpus.test_pairs", self.test_pairs, 1)


@dataclass(kw_only=True)
class FilesCorpus(CorpusConfig):
    """Your own line-aligned text: six paths, or a directory of train/valid/test.{source,target}."""

    kind: str = "files"
    train_source: str | None = None
    """Path of the source side of the training text; and so on for the five below."""
    train_target: str | None = None
    valid_source: str | None = None
    valid_target: str | None = None
    test_source: str | None = None
    test_target: str | None = None


CORPORA: dict[str, type[CorpusConfig]] = {
    "grammar": GrammarCorpus,
    "multi30k": Multi30kCorpus,
    "europarl": EuroparlCorpus,
    "files": FilesCorpus,
}


@dataclass(kw_only=True)
class TokenizationConfig:
    """How text becomes pieces, and pieces ids."""

    kind: str
    """sentencepiece | moses | whitespace."""
    vocabulary_size: int | None = None
    """Most pieces kept per vocabulary, specials included; null for no limit (not sentencepiece)."""
    min_frequency: int = 1
    """Words seen less often in training become <unk> (moses and whitespace)."""
    joint: bool = False
    """One subword model over both languages instead of one per side (sentencepiece)."""
    max_pieces: int = 250
    """Training and dev pairs with more pieces on a side are left out; longer lines to translate are
    cut with a warning."""
    workers: int | None = None
    """Processes that tokenise; null for one per core. A small text is cut by one."""

    def __post_init__(self) -> None:
        require_choice("tokenization.kind", self.kind, ("sentencepiece", "moses", "whitespace"))
        require_range("tokenization.vocabulary_size", self.vocabulary_size, 8)
        require_range("tokenization.min_frequency", self.min_frequency, 1)
        require_range("tokenization.max_pieces", self.max_pieces, 1)
        require_range("tokenization.workers", self.workers, 1)
        if self.kind == "sentencepiece" and self.vocabulary_size is None:
            raise UserError(
                "tokenization.vocabulary_size is null; sentencepiece needs a size, such as 8000."
            )
        if self.joint and self.kind != "sentencepiece":
            raise UserError(
                f"tokenization.joint=true goes with sentencepiece only, not {self.kind}; "
                "set it to false."
            )

    def refuse_idle(self) -> None:
        """Refuse settings without effect; only on request, since a checkpoint may hold some."""
        if self.min_frequency > 1 and self.kind == "sentencepiece":
            raise UserError(
                f"tokenization.min_frequency={self.min_frequency} goes with words, not with "
                "sentencepiece; leave it out."
            )
