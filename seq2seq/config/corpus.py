"""Settings of the parallel corpus and of its tokenization."""

from dataclasses import dataclass, fields
from itertools import permutations
from pathlib import Path
from typing import Annotated

from seq2seq.config.checks import Count, FileName, Normalization, Place, Settings, between, one_of
from seq2seq.errors import UserError


@dataclass(kw_only=True)
class CorpusConfig(Settings):
    """Settings of the parallel text; one subclass per kind of corpus."""

    kinds = dict[str, type["CorpusConfig"]]()  # noqa: RUF012 - filled below
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
    """Base URL (http, https or file) to download from instead of the public one; only of multi30k
    and europarl."""
    train_pairs: Count | None = None
    """Number of training pairs to read, from the start of the text; null for all. Pairs that are
    blank or too long count towards this number, but are left out."""
    train_max_words: Count | None = None
    """Maximum number of words on each side of a training pair (30 or 50 in the paper); longer pairs
    are left out. In languages without spaces (see ``evaluation.length_unit``), two characters count
    as one word, here and in ``max_words``."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.source == self.target:
            raise UserError(
                f"corpus.source and corpus.target are both {self.source}; set two different "
                "languages."
            )
        if self.mirror is not None and self.kind not in ("multi30k", "europarl"):
            raise UserError(f"corpus={self.kind} reads no corpus.mirror; remove corpus.mirror.")


@dataclass(kw_only=True)
class GrammarCorpus(CorpusConfig):
    """The embedded English-German grammar: no download, any size, gold alignments."""

    kind: str = "grammar"
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


@dataclass(kw_only=True)
class Multi30kCorpus(CorpusConfig):
    """Multi30k image captions (Elliott et al. 2016): 29,000 short pairs."""

    kind: str = "multi30k"
    source: Annotated[str, one_of("en", "de", "fr")] = "de"
    target: Annotated[str, one_of("en", "de", "fr")] = "en"


@dataclass(kw_only=True)
class EuroparlCorpus(CorpusConfig):
    """Europarl v7 (Koehn 2005), English-French: long sentences, a part of the paper's corpus."""

    kind: str = "europarl"
    source: Annotated[str, one_of("en", "fr")] = "en"
    target: Annotated[str, one_of("en", "fr")] = "fr"
    max_words: Count = 100
    """Maximum number of words on each side of a pair; cleaning drops longer pairs before the text
    is split."""
    max_ratio: Annotated[float, between(1)] = 3.0
    """Maximum ratio of the longer side of a pair to the shorter side, in words; cleaning drops
    pairs with a larger ratio."""
    valid_pairs: Count = 2_000
    """Number of validation pairs, chosen by a hash of the source sentence."""
    test_pairs: Count = 4_000
    """Number of test pairs, chosen by a hash of the source sentence."""
    sample: Annotated[str, one_of("study")] | None = None
    """study (the pairs and splits of docs/study.md, found in the archive by their hashes) | null
    (the archive, cleaned and split)."""

    def __post_init__(self) -> None:
        super().__post_init__()
        cleaning = ("max_words", "max_ratio", "valid_pairs", "test_pairs")
        for one in [one for one in fields(self) if self.sample and one.name in cleaning]:
            if (value := getattr(self, one.name)) != one.default:
                raise UserError(
                    f"corpus.{one.name}={value} does not change corpus.sample={self.sample}, which "
                    "has pairs of its own; remove it, or set corpus.sample=null."
                )


@dataclass(kw_only=True)
class FilesCorpus(CorpusConfig):
    """Your own line-aligned text; ``directory`` is a folder with train.LANGUAGE, valid.LANGUAGE and
    test.LANGUAGE files."""

    kind: str = "files"
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


PACKED: tuple[list[str], ...] = ([], ["gz"], ["xz"])
"""What may follow the language in the name of a file of text."""


def endings(folder: Path) -> list[str]:
    """List the languages of a folder, which are the endings of its files ``train.*``, sorted."""
    names = [path.name.split(".")[1:] for path in folder.glob("train.?*") if path.is_file()]
    return sorted({ending for ending, *packed in names if packed in PACKED} - {"align"})


def in_words(folder: Path) -> str:
    """Say which endings the training text in a folder has: "my_text has .de and .en"."""
    found = " and ".join(f".{ending}" for ending in endings(folder))
    return f"{folder} has {found or 'no files train.LANGUAGE'}"


def _languages(source: str, target: str, directory: str | None) -> tuple[str, str]:
    """Return both languages; each one that is "auto" is found among the endings in ``directory``.

    If ``directory`` is no folder, "auto" becomes "source" or "target". If both are "auto" and the
    only endings are de and en, en is the source.
    """
    folder = Path(directory or "no folder").expanduser()
    found = endings(folder) if folder.is_dir() else ["source", "target"]
    if found == ["source", "target"]:
        return (found[0] if source == "auto" else source, found[1] if target == "auto" else target)
    pairs = permutations(found, 2)
    ways = [way for way in pairs if source in (way[0], "auto") and target in (way[1], "auto")]
    if len(ways) == 1 or (ways and found == ["de", "en"]):
        return ways[-1]
    settings = [f"corpus.source={one} corpus.target={other}" for one, other in ways[:2]]
    end = f"to say which way to translate, add {' or '.join(settings)} to the command"
    other = (
        "name the files train.LANGUAGE, and set corpus.source and corpus.target to two of these "
        "languages"
    )
    raise UserError(f"{in_words(folder)}; {end if ways else other}.")


CORPORA = CorpusConfig.kinds
CORPORA |= {
    "grammar": GrammarCorpus,
    "multi30k": Multi30kCorpus,
    "europarl": EuroparlCorpus,
    "files": FilesCorpus,
}


@dataclass(kw_only=True)
class TokenizationConfig(Settings):
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
    source_normalization: Normalization | None = None
    """Normalisation of the source (sentencepiece): identity (keeps every character) | nfkc |
    nmt_nfkc (nfkc, and control characters are removed); null for nmt_nfkc. White space always
    becomes single spaces."""
    target_normalization: Normalization | None = None
    """Normalisation of the target, and with ``joint`` also of the source; null for identity. A
    model cannot write a character that the normalisation removes."""
    max_pieces: Count = 250
    """Maximum number of pieces on each side of a training or validation pair; longer pairs are left
    out. In translation, a longer line is cut."""
    workers: Count | None = None
    """Number of processes that tokenise; null for one per core. A text of fewer than 200,000 pairs
    is always tokenised by one process."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.kind == "sentencepiece" and self.vocabulary_size is None:
            raise UserError("tokenization.vocabulary_size is null; sentencepiece needs a number.")
        if self.joint and self.kind != "sentencepiece":
            raise UserError("tokenization.joint=true needs tokenization.kind=sentencepiece.")
        subwords, target = self.kind == "sentencepiece", self.target_normalization or "identity"
        source = target if self.joint else self.source_normalization or "nmt_nfkc"
        self.source_normalization = source if subwords else None
        self.target_normalization = target if subwords else None
