"""Settings of the parallel corpus and of its tokenization."""

from itertools import permutations
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from seq2seq.config.checks import Count, FileName, Place, between, one_of, settings
from seq2seq.errors import UserError


@settings
class CorpusConfig:
    """Settings of the parallel text; one subclass per kind of corpus."""

    kind: str
    """grammar | multi30k | europarl | files."""
    source: FileName
    """Language code of the source side."""
    target: FileName
    """Language code of the target side."""
    directory: Place | None = None
    """Folder that already holds the corpus files (plain, .gz or .xz), instead of a download; not
    with grammar."""
    mirror: str | None = None
    """Base URL (http or https) to download from instead of the public one; only of multi30k
    and europarl."""
    train_pairs: Count | None = None
    """Number of training pairs to read, from the start of the text; null for all. Pairs that are
    blank or too long count towards this number, but are left out."""
    train_max_words: Count | None = None
    """Maximum number of words on each side of a training pair (30 or 50 in the paper); longer pairs
    are left out. In languages without spaces (see ``evaluation.length_unit``), two characters count
    as one word, here and in ``max_words``."""

    def __post_init__(self) -> None:
        if self.source == self.target:
            raise UserError(f"corpus.source and corpus.target are both {self.source}.")


@settings
class GrammarCorpus(CorpusConfig):
    """The embedded English-German grammar: no download, any size."""

    kind: Literal["grammar"] = "grammar"
    source: Annotated[str, one_of("en", "de")] = "en"
    target: Annotated[str, one_of("en", "de")] = "de"
    seed: int = 1
    """Seed of the text itself, not of the training."""
    train: Count = 120_000
    """Number of training pairs."""
    valid: Count = 1_000
    """Number of validation pairs; their lengths have the same distribution as in training."""
    test_per_bucket: Count = 200
    """Number of test pairs in each range of source length: 1-10 words, 11-20 words, and so on up to
    max_words."""
    max_words: Annotated[int, between(10, 120)] = 70
    """Longest source sentence, in words."""


@settings
class Multi30kCorpus(CorpusConfig):
    """Multi30k image captions (Elliott et al. 2016): 29,000 short pairs."""

    kind: Literal["multi30k"] = "multi30k"
    source: Annotated[str, one_of("en", "de", "fr")] = "de"
    target: Annotated[str, one_of("en", "de", "fr")] = "en"


@settings
class EuroparlCorpus(CorpusConfig):
    """Europarl v7 (Koehn 2005), English-French: long sentences, a part of the paper's corpus."""

    kind: Literal["europarl"] = "europarl"
    source: Annotated[str, one_of("en", "fr")] = "en"
    target: Annotated[str, one_of("en", "fr")] = "fr"
    max_words: Count = 100
    """Maximum number of words on each side of a pair; cleaning drops longer pairs before the text
    is split."""
    valid_pairs: Count = 2_000
    """Number of validation pairs, chosen by a hash of the source sentence."""
    test_pairs: Count = 4_000
    """Number of test pairs, chosen by a hash of the source sentence."""


@settings
class FilesCorpus(CorpusConfig):
    """Your own line-aligned text; ``directory`` is a folder with train.LANGUAGE, valid.LANGUAGE and
    test.LANGUAGE files."""

    kind: Literal["files"] = "files"
    source: FileName = "auto"
    """Language code of the source side; auto: the ending of train.* that is not ``target``'s."""
    target: FileName = "auto"
    """Language code of the target side; auto: the ending of train.* that is not ``source``'s."""
    valid_pairs: Count | None = None
    """Number of validation pairs to split off the training text; refused with a valid file."""
    test_pairs: Count | None = None
    """Number of test pairs to split off the training text; refused with a test file."""

    def __post_init__(self) -> None:
        if "auto" in (self.source, self.target):
            self.source, self.target = _languages(self.source, self.target, self.directory)
        super().__post_init__()


Corpus = Annotated[
    GrammarCorpus | Multi30kCorpus | EuroparlCorpus | FilesCorpus, Field(discriminator="kind")
]
CORPORA: dict[str, type[CorpusConfig]] = {
    one.kind: one for one in (GrammarCorpus, Multi30kCorpus, EuroparlCorpus, FilesCorpus)
}


def _languages(source: str, target: str, directory: str | None) -> tuple[str, str]:
    """Find each language that is "auto"; if both are, and only de and en are there, en is first."""
    files = [path for path in Path(directory or "no folder").glob("train.?*") if path.is_file()]
    names = [path.name.split(".")[1:] for path in files]
    endings = {ending for ending, *packed in names if packed in ([], ["gz"], ["xz"])}
    found = sorted(endings) or ["source", "target"]
    if found == ["source", "target"]:
        return (found[0] if source == "auto" else source, found[1] if target == "auto" else target)
    pairs = permutations(found, 2)
    ways = [way for way in pairs if source in (way[0], "auto") and target in (way[1], "auto")]
    if len(ways) == 1 or (ways and found == ["de", "en"]):
        return ways[-1]
    given = " or ".join(f"corpus.source={one} corpus.target={other}" for one, other in ways[:2])
    raise UserError(
        f"{directory} has train.{' and train.'.join(found)}; set {given or 'two of these'} to say "
        "which way to translate."
    )


@settings
class TokenizationConfig:
    """Settings of the tokenizers, which cut text into pieces, and of the vocabularies, which number
    the pieces."""

    kind: Annotated[str, one_of("sentencepiece", "whitespace")]
    """sentencepiece (subwords) | whitespace (words of text already tokenised)."""
    vocabulary_size: Annotated[int, between(8)] | None = None
    """Maximum vocabulary size, including special pieces such as ``<unk>``; null for no limit (not
    with sentencepiece)."""
    min_frequency: Count = 1
    """Minimum count of a word in training; rarer words become ``<unk>`` (whitespace)."""
    joint: bool = False
    """Whether both languages share one subword model (sentencepiece)."""
    target_normalization: Annotated[str, one_of("identity", "nfkc", "nmt_nfkc")] | None = None
    """Normalisation of the target, and with ``joint`` also of the source (sentencepiece): identity
    (keeps every character) | nfkc | nmt_nfkc (nfkc, and control characters are removed; always
    that of the source without ``joint``); null for identity. White space always becomes single
    spaces. A model cannot write a character that the normalisation removes."""
    max_pieces: Count = 250
    """Maximum number of pieces on each side of a training or validation pair; longer pairs are left
    out. In translation, a longer line is cut."""

    def __post_init__(self) -> None:
        if self.kind == "sentencepiece" and self.vocabulary_size is None:
            raise UserError("tokenization.vocabulary_size is null; sentencepiece needs a number.")
        target = self.target_normalization or "identity"
        self.target_normalization = target if self.kind == "sentencepiece" else None

    @property
    def source_normalization(self) -> str | None:
        """Normalisation of the source; None without subwords."""
        if self.joint or self.kind != "sentencepiece":
            return self.target_normalization
        return "nmt_nfkc"
