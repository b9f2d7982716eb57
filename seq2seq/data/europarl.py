"""Europarl v7 (Koehn 2005), English-French: downloaded, cleaned and split, always the same way.

Two passes over the text, neither of which holds it in memory. The first drops unusable pairs and
keeps 16 bytes of digest of each other one; from the digests alone :func:`assign` finds the
duplicates and the split of every pair; the second pass deals the lines out.
"""

import gzip
import hashlib
import json
import logging
import shutil
import tarfile
import zlib
from array import array
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path

import numpy as np
from jaxtyping import Int8, UInt64
from tqdm import tqdm

from seq2seq.config import EuroparlCorpus
from seq2seq.data.download import fetch
from seq2seq.data.parallel_text import find_file
from seq2seq.data.text import LineWriter, read_lines, word_count
from seq2seq.errors import UserError
from seq2seq.files import BLOCK, file_digest, new_folder, write_json

logger = logging.getLogger(__name__)

BASE = "https://www.statmt.org/europarl/v7/"
ARCHIVE = "fr-en.tgz"
MEMBERS = {"en": "europarl-v7.fr-en.en", "fr": "europarl-v7.fr-en.fr"}
RULES = 1
"""Goes up whenever cleaning or splitting changes, so that no text of older rules is reused."""

TRAIN, VALID, TEST, DUPLICATE, HELD_OUT = range(5)
"""What becomes of a pair. HELD_OUT: a further translation of a validation or test source."""
SPLITS = {TRAIN: "train", VALID: "valid", TEST: "test"}


@dataclass
class Cleaning:
    """How many pairs went which way; ``read`` is the sum of all others."""

    read: int = 0
    """Lines of the raw files."""
    empty: int = 0
    """Dropped: a side without words."""
    too_long: int = 0
    """Dropped: a side of more than max_words words."""
    uneven: int = 0
    """Dropped: one side has more than max_ratio times the words of the other."""
    duplicate: int = 0
    """Dropped: the same pair occurred before."""
    held_out: int = 0
    """Dropped: another translation of a source that is in the validation or test text."""
    train: int = 0
    valid: int = 0
    test: int = 0


def split_text(config: EuroparlCorpus, raw: Path | None, home: Path) -> Path:
    """Return the folder below ``home`` with the cleaned and split text, made if need be.

    Args:
        config: limits of the cleaning and sizes of the splits.
        raw: a folder with the raw files or their archive; None to download the archive.
        home: where the archive and the split text go.

    Raises:
        UserError: there is no raw text, it is damaged, or it is too little.
    """
    texts = _raw_texts(config, raw) if raw is not None else []
    folder = home / _folder_name(config, texts)
    with new_folder(folder) as part:
        if part is None:
            return folder
        if len(texts) == len(MEMBERS):
            clean_and_split(config, dict(zip(MEMBERS, texts, strict=True)), part)
            return folder
        archive = texts[0] if texts else fetch(config.mirror or BASE, ARCHIVE, home)
        try:
            unpacked = _unpack(archive, part)
        except UserError:
            if not texts:  # downloaded, so it can be again; a user's own file stays
                archive.unlink()
            raise
        clean_and_split(config, unpacked, part, file_digest(archive))
        for path in unpacked.values():
            path.unlink()
    return folder


def _raw_texts(config: EuroparlCorpus, folder: Path) -> list[Path]:
    """The two raw files of a folder, or their archive."""
    texts = [find_file(folder, [name]) for name in MEMBERS.values()]
    if found := [path for path in texts if path is not None]:
        if len(found) == len(MEMBERS):
            return found
    elif (folder / ARCHIVE).is_file():
        return [folder / ARCHIVE]
    raise UserError(
        f"corpus.directory={folder} holds no Europarl: looked for train, valid and test text "
        f"(train.{config.source}, train.{config.target}, ...), for "
        f"{' and '.join(MEMBERS.values())}, and for {ARCHIVE}."
    )


def _unpack(archive: Path, folder: Path) -> dict[str, Path]:
    """Write the two texts of the archive into ``folder``; returns language -> file."""
    texts = {language: folder / name for language, name in MEMBERS.items()}
    try:
        with gzip.open(archive) as content:
            with tarfile.open(fileobj=content, mode="r|") as tar:
                for member in tar:
                    source = tar.extractfile(member) if member.isreg() else None
                    if source is not None and member.name in MEMBERS.values():
                        with source, (folder / member.name).open("wb") as stream:
                            shutil.copyfileobj(source, stream, BLOCK)
            while content.read(BLOCK):  # the checksum is behind the end of the tar
                pass
    except (EOFError, zlib.error, gzip.BadGzipFile, tarfile.TarError) as error:
        raise UserError(
            f"{archive} is damaged ({error}); download it again, or get it from another place."
        ) from None
    if missing := [path.name for path in texts.values() if not path.is_file()]:
        raise UserError(f"{archive} holds no {' and no '.join(missing)}; get another copy.")
    return texts


def clean_and_split(
    config: EuroparlCorpus, texts: dict[str, Path], folder: Path, archive: str | None = None
) -> Cleaning:
    """Write {train,valid,test}.{en,fr} and cleaning.json into ``folder`` from the raw texts.

    Args:
        config: limits of the cleaning and sizes of the splits.
        texts: language -> raw file, line by line translations of each other.
        folder: an existing folder.
        archive: SHA-256 of the archive that the raw files are of, if any, for cleaning.json.

    Raises:
        UserError: the raw files have different numbers of lines, or too few pairs are left.
    """
    counts = Cleaning()
    pair_digests, source_digests = array("Q"), array("Q")
    usable = bytearray()  # one byte per raw pair
    for source, target in _pairs(config, texts, "cleaning"):
        counts.read += 1
        usable.append(_usable(config, source, target, counts))
        if usable[-1]:
            pair_digests.append(_digest(f"{source}\n{target}"))
            # Capitals and spacing aside: such near-equal sources must not straddle splits either.
            source_digests.append(_digest(" ".join(source.split()).casefold()))
    labels = assign(
        np.array(pair_digests, np.uint64),
        np.array(source_digests, np.uint64),
        config.valid_pairs,
        config.test_pairs,
    )
    with ExitStack() as stack:
        files = {
            (label, language): stack.enter_context(LineWriter(folder / f"{split}.{language}"))
            for label, split in SPLITS.items()
            for language in MEMBERS
        }
        remaining = iter(labels.tolist())
        for index, (source, target) in enumerate(_pairs(config, texts, "splitting")):
            if usable[index] and (label := next(remaining)) in SPLITS:
                files[label, config.source].write(source)
                files[label, config.target].write(target)
    sizes = np.bincount(labels, minlength=5).tolist()
    counts.train, counts.valid, counts.test, counts.duplicate, counts.held_out = sizes
    report = {
        "rules": RULES,
        "archive": archive,
        "source": config.source,
        "target": config.target,
        "max_words": config.max_words,
        "max_ratio": config.max_ratio,
        "pairs": vars(counts),
    }
    write_json(folder / "cleaning.json", report)
    logger.info("Europarl, pairs: %s", ", ".join(f"{k} {v:,}" for k, v in vars(counts).items()))
    return counts


def assign(
    pairs: UInt64[np.ndarray, " N"], sources: UInt64[np.ndarray, " N"], valid: int, test: int
) -> Int8[np.ndarray, " N"]:
    """Say from digests what becomes of each of N pairs: TRAIN, VALID, TEST, DUPLICATE, HELD_OUT.

    The distinct sources, in the order of their digests, which is a fair shuffle and depends on
    nothing but the text: the first ``test`` of them are for testing, the next ``valid`` for
    validation. Of a source held out so, the first pair is taken and others are HELD_OUT, so that
    the splits have exactly the sizes asked for and share no source.
    """
    _, first = np.unique(pairs, return_index=True)
    first.sort()  # indices of the pairs that are no duplicates, in the order of the text
    distinct, leader, source = np.unique(sources[first], return_index=True, return_inverse=True)
    if len(distinct) <= valid + test:
        raise UserError(
            f"Only {len(distinct)} distinct sources are left of the corpus after cleaning, too few "
            f"for corpus.valid_pairs={valid}, corpus.test_pairs={test} and any training text; "
            "lower these, or raise corpus.max_words and corpus.max_ratio."
        )
    split = np.full(len(distinct), TRAIN, np.int8)
    split[:test] = TEST
    split[test : test + valid] = VALID
    kept = split[source]
    follows = np.ones(len(first), bool)
    follows[leader] = False
    kept[(kept != TRAIN) & follows] = HELD_OUT
    labels = np.full(len(pairs), DUPLICATE, np.int8)
    labels[first] = kept
    return labels


def _folder_name(config: EuroparlCorpus, texts: list[Path]) -> str:
    """Name for the split text: equal for equal settings, rules and raw files.

    ``texts`` are the user's raw files, identified by path, size and date; none for the public
    archive.
    """
    facts: list[object] = [RULES, config.max_words, config.max_ratio]
    facts += [config.valid_pairs, config.test_pairs]
    for path in texts:
        state = path.stat()
        facts.append([str(path.resolve()), state.st_size, state.st_mtime_ns])
    digest = hashlib.sha256(json.dumps(facts).encode()).hexdigest()[:12]
    return f"{config.source}-{config.target}-{digest}"


def _pairs(config: EuroparlCorpus, texts: dict[str, Path], what: str) -> Iterator[tuple[str, str]]:
    """Yield (source, target), stripped."""
    paths = texts[config.source], texts[config.target]
    sides = zip_longest(*(read_lines(path) for path in paths))
    for number, (source, target) in enumerate(
        tqdm(sides, desc=f"Europarl: {what}", unit=" pairs", disable=None), start=1
    ):
        if source is None or target is None:
            short, long = paths if source is None else paths[::-1]
            raise UserError(
                f"{short} ends after {number - 1} lines, {long} does not; line i of one must be "
                "the translation of line i of the other."
            )
        yield source.strip(), target.strip()


def _usable(config: EuroparlCorpus, source: str, target: str, counts: Cleaning) -> bool:
    """Say whether to keep a pair, and count why not."""
    shorter, longer = sorted((word_count(source), word_count(target)))
    if not shorter:
        counts.empty += 1
    elif longer > config.max_words:
        counts.too_long += 1
    elif longer > config.max_ratio * shorter:
        counts.uneven += 1
    else:
        return True
    return False


def _digest(text: str) -> int:
    """64 bits: among two million pairs two meet by chance once in ten million corpora."""
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big")
