"""Which parallel text, and how it becomes ids."""

from dataclasses import dataclass, field
from typing import Annotated

from seq2seq.config.checks import Count, FileName, Place, Settings, between, one_of
from seq2seq.errors import UserError


@dataclass(kw_only=True)
class CorpusConfig(Settings):
    """Where parallel text comes from; one subclass per kind of corpus."""

    kinds = dict[str, type["CorpusConfig"]]()  # noqa: RUF012 - filled below
    kind: str
    """grammar | multi30k | europarl | mtdata | files."""
    source: FileName
    """Language code of the source side."""
    target: FileName
    """Language code of the target side."""
    directory: Place | None = None
    """Folder that already holds the corpus files (plain, .gz or .xz); nothing is downloaded."""
    mirror: str | None = None
    """Base URL (http, https or file) to download from instead of the public one."""
    train_pairs: Count | None = None
    """Train on this many pairs only, the first ones; null for all."""
    train_max_words: Count | None = None
    """Leave out pairs with more words on a side, from training only (30 or 50 in the paper)."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.source == self.target:
            raise UserError(f"corpus.source={self.source} is the target, too; name two languages.")


@dataclass(kw_only=True)
class GrammarCorpus(CorpusConfig):
    """The embedded English-German grammar: no download, any size, gold alignments."""

    kind: str = "grammar"
    source: Annotated[str, one_of("en", "de")] = "en"
    target: Annotated[str, one_of("en", "de")] = "de"
    seed: int = 1
    """Seed of the text itself, not of the training."""
    train: Count = 160_000
    """Training pairs."""
    valid: Count = 1_000
    """Validation pairs, of the training distribution of lengths."""
    test_per_bucket: Count = 200
    """Test pairs in each band of ten source words (1-10, 11-20, ..., up to max_words)."""
    max_words: Annotated[int, between(10, 120)] = 70
    """The longest source sentence written, in words."""


@dataclass(kw_only=True)
class Multi30kCorpus(CorpusConfig):
    """Multi30k image captions (Elliott et al. 2016): 29,000 short pairs."""

    kind: str = "multi30k"
    source: Annotated[str, one_of("en", "de", "fr")] = "de"
    target: Annotated[str, one_of("en", "de", "fr")] = "en"


@dataclass(kw_only=True)
class CleanedCorpus(CorpusConfig):
    """Public text as it is published: cleaned and split here, always the same way."""

    max_words: Count = 100
    """Cleaning: drop pairs with more words on a side (from all splits of the raw text)."""
    max_ratio: Annotated[float, between(1)] = 3.0
    """Cleaning: drop pairs whose word counts differ by more than this factor."""
    valid_pairs: Count = 2_000
    """Validation pairs, chosen by content hash."""
    test_pairs: Count = 4_000
    """Test pairs, chosen by content hash."""


@dataclass(kw_only=True)
class EuroparlCorpus(CleanedCorpus):
    """Europarl v7 (Koehn 2005), English-French: the long sentences of the paper's own corpus."""

    kind: str = "europarl"
    source: Annotated[str, one_of("en", "fr")] = "en"
    target: Annotated[str, one_of("en", "fr")] = "fr"
    sample: Annotated[str, one_of("study")] | None = None
    """study: the pairs and splits of docs/study.md, found in the archive by their digests, instead
    of those that cleaning and splitting would give; null for the latter."""


@dataclass(kw_only=True)
class MtdataCorpus(CleanedCorpus):
    """Public datasets of Statmt, OPUS, TED and others, by their ids in the package mtdata."""

    kind: str = "mtdata"
    source: FileName = "de"
    target: FileName = "en"
    train: list[FileName] = field(default_factory=list)
    """Ids such as Statmt-europarl-10-deu-eng; ``mtdata list -id -l de-en`` prints all of a pair."""
    valid: list[FileName] = field(default_factory=list)
    """Ids of validation text, taken as it is; empty to take valid_pairs from the training text."""
    test: list[FileName] = field(default_factory=list)
    """Ids of test sets, taken as they are, each ``test_<id>``; empty to take test_pairs."""


@dataclass(kw_only=True)
class FilesCorpus(CorpusConfig):
    """Your own line-aligned text: ``directory`` holds train, valid and test.{source,target}, or it
    is one file with a sentence, a tab and its translation on each line."""

    kind: str = "files"
    source: FileName = "en"
    target: FileName = "de"
    valid_pairs: Count | None = None
    """Validation pairs to take from the training text, for text without a valid file."""
    test_pairs: Count | None = None
    """Test pairs to take from the training text, for text without a test file."""


CORPORA = CorpusConfig.kinds
CORPORA |= {
    "grammar": GrammarCorpus,
    "multi30k": Multi30kCorpus,
    "europarl": EuroparlCorpus,
    "mtdata": MtdataCorpus,
    "files": FilesCorpus,
}


@dataclass(kw_only=True)
class TokenizationConfig(Settings):
    """How text becomes pieces, and pieces ids."""

    kind: Annotated[str, one_of("sentencepiece", "moses", "whitespace")]
    """sentencepiece | moses | whitespace."""
    vocabulary_size: Annotated[int, between(8)] | None = None
    """Most pieces kept per vocabulary, specials included; null for no limit (not sentencepiece)."""
    min_frequency: Count = 1
    """Words seen less often in training become ``<unk>`` (moses and whitespace)."""
    joint: bool = False
    """One subword model over both languages instead of one per side (sentencepiece)."""
    max_pieces: Count = 250
    """Pairs with more pieces on a side are not trained on; longer lines to translate are cut."""
    workers: Count | None = None
    """Processes that tokenise; null for one per core. A small text needs only one."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.kind == "sentencepiece" and self.vocabulary_size is None:
            raise UserError("tokenization.vocabulary_size is null; sentencepiece needs a number.")
        if self.joint and self.kind != "sentencepiece":
            raise UserError("tokenization.joint=true needs tokenization.kind=sentencepiece.")
