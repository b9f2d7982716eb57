"""Europarl v7 (Koehn 2005), English-French: unpacked, cleaned and split, always the same way.

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
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Int8, UInt64
from tqdm import tqdm

from seq2seq.config import CleanedCorpus, EuroparlCorpus
from seq2seq.data.download import fetch
from seq2seq.data.text import (
    LineWriter,
    find_file,
    find_test_names,
    read_lines,
    read_pairs,
    word_count,
    write_lines,
)
from seq2seq.errors import UserError
from seq2seq.files import BLOCK, digest, file_digest, file_state, make_folder, write_json

log = logging.getLogger(__name__)

BASE = "https://www.statmt.org/europarl/v7/"
ARCHIVE = "fr-en.tgz"
MEMBERS = {"en": "europarl-v7.fr-en.en", "fr": "europarl-v7.fr-en.fr"}
SAMPLES = Path(__file__).parent
RULES = 2
"""Increased whenever cleaning or splitting changes, so that text of older rules is not reused."""

WAYS = ("train", "valid", "test", "duplicate", "held_out", "empty", "too_long", "uneven")
TRAIN, VALID, TEST, DUPLICATE, HELD_OUT, EMPTY, TOO_LONG, UNEVEN = range(len(WAYS))
"""What becomes of a pair. HELD_OUT: its source is in validation or test by another pair."""


def text_folder(
    config: EuroparlCorpus, raw: Path | None, home: Path
) -> tuple[Path, Callable[[], object] | None]:
    """A folder below ``home``, and what cleans and splits the corpus into it.

    A folder of the user's that holds split text is returned as it is.

    Args:
        config: limits of the cleaning, sizes of the splits, and the mirror.
        raw: a folder with the two raw texts or their archive; None to download the archive.
        home: folder for the archive and what is made of it.

    Raises, also as it makes the folder:
        UserError: there is no raw text, it is damaged, or it is too little.
    """
    if raw is not None and find_test_names(raw, (config.source, config.target)):
        return raw, None
    files = [] if raw is None else _raw_files(raw)
    sizes = (config.max_words, float(config.max_ratio), config.valid_pairs, config.test_pairs)
    own = [file_state(path) for path in files]
    name = digest([json.dumps([RULES, config.sample or sizes, *own]).encode()])[:12]
    split = pick_sample if config.sample else clean_and_split

    def fill(folder: Path) -> None:
        if len(files) == len(MEMBERS):
            split(config, dict(zip(MEMBERS, files, strict=True)), folder)
            return
        archive = files[0] if files else fetch(config.mirror or BASE, ARCHIVE, home)
        try:
            texts = _unpack(archive, folder)
        except UserError:
            if raw is None:
                archive.unlink()  # to be downloaded again; the user's own file stays
            raise
        split(config, texts, folder, archive=file_digest(archive))
        for path in texts.values():
            path.unlink()

    folder = home / f"{config.source}-{config.target}-{name}"
    return folder, partial(make_folder, folder, fill)


def _raw_files(folder: Path) -> list[Path]:
    """The two raw texts of a folder, or their archive."""
    texts = [path for name in MEMBERS.values() if (path := find_file(folder, [name]))]
    if len(texts) == len(MEMBERS):
        return texts
    if (folder / ARCHIVE).is_file():
        return [folder / ARCHIVE]
    raise UserError(
        f"corpus.directory={folder} holds no Europarl: looked for train, valid and test text, for "
        f"{' and '.join(MEMBERS.values())}, and for {ARCHIVE}."
    )


def _unpack(archive: Path, folder: Path) -> dict[str, Path]:
    """Write the two texts of the archive into ``folder``; return language -> file."""
    texts = {language: folder / name for language, name in MEMBERS.items()}
    try:
        with gzip.open(archive) as stream:
            with tarfile.open(fileobj=stream) as tar:
                for path in texts.values():
                    member = tar.extractfile(path.name)
                    assert member is not None  # a regular file
                    with member, path.open("wb") as text:
                        shutil.copyfileobj(member, text)
            while stream.read(BLOCK):  # the checksum stands at the end of the gzip stream
                pass
    except (KeyError, EOFError, zlib.error, gzip.BadGzipFile, tarfile.TarError) as error:
        raise UserError(
            f"{archive} is damaged or is not the archive of Europarl ({error}); delete it, and "
            "download it again."
        ) from error
    return texts


def clean_and_split(
    config: CleanedCorpus, texts: dict[str, Path], folder: Path, **origin: Any
) -> dict[str, int]:
    """Write {train,valid,test}.<language> and cleaning.json into ``folder`` from the raw texts.

    A split that ``folder`` holds already stays, and its sources are in no other. ``texts``:
    language -> raw file; ``origin``: what cleaning.json says of where they are from.
    Returns how many pairs went each of the :data:`WAYS`, and ``read``, the sum.

    Raises:
        UserError: the raw files have different numbers of lines, or too few pairs are left.
    """
    languages = config.source, config.target
    labels = bytearray()
    pair_digests, source_digests = array("Q"), array("Q")
    for source, target in _pairs(config, texts, "cleaning"):
        labels.append(_label(config, source, target))
        if labels[-1] == TRAIN:
            pair_digests.append(_digest(f"{source}\n{target}"))
            source_digests.append(source_digest(source))
    ways = np.frombuffer(labels, np.int8)
    valid, tests = (sorted(folder.glob(f"{name}.{config.source}")) for name in ("valid", "test*"))
    ways[ways == TRAIN] = assign(
        np.array(pair_digests, np.uint64),
        np.array(source_digests, np.uint64),
        0 if valid else config.valid_pairs,
        0 if tests else config.test_pairs,
        source_digests_of(valid + tests),
    )
    counts = write_splits(folder, languages, ways, _pairs(config, texts, "splitting"))
    settings = {key: getattr(config, key) for key in ("source", "target", "max_words", "max_ratio")}
    report = {"rules": RULES, **origin, **settings, "pairs": counts}
    write_json(folder / "cleaning.json", report)
    return counts


def pick_sample(
    config: EuroparlCorpus, texts: dict[str, Path], folder: Path, **origin: Any
) -> dict[str, int]:
    """Write the pairs of ``config.sample`` in its order, as :func:`clean_and_split` does its own.

    Each pair is known by :func:`pair_digest`. Those that ``texts`` do not have are left out.
    Returns how many pairs of each split were found.

    Raises:
        UserError: a split has none.
    """
    with np.load(SAMPLES / f"europarl_{config.sample}.npz") as stored:
        splits = {name: stored[name].tolist() for name in ("train", "valid", "test")}
    wanted = {code for codes in splits.values() for code in codes}
    found: dict[int, tuple[str, str]] = {}
    languages = sorted((config.source, config.target))
    for pair in _pairs(config, texts, "looking for the sample"):
        by_language = dict(zip((config.source, config.target), pair, strict=True))
        code = pair_digest(*(by_language[language] for language in languages))
        if code in wanted:
            found.setdefault(code, pair)
    counts = {name: sum(code in found for code in codes) for name, codes in splits.items()}
    for name, codes in splits.items():
        log.info("%s: %d of %d pairs of the sample found", name, counts[name], len(codes))
        if not counts[name]:
            raise UserError(
                f"{texts[config.source]} has none of the {name} pairs of corpus.sample="
                f"{config.sample}; give the archive {ARCHIVE} of {BASE}, or corpus.sample=null."
            )
        for side, language in enumerate((config.source, config.target)):
            lines = [found[code][side] for code in codes if code in found]
            write_lines(folder / f"{name}.{language}", lines)
    sizes = {name: len(codes) for name, codes in splits.items()}
    report = {"sample": config.sample, **origin, "pairs": counts, "pairs_of_the_sample": sizes}
    write_json(folder / "cleaning.json", report)
    return counts


def assign(
    pairs: UInt64[np.ndarray, " N"],
    sources: UInt64[np.ndarray, " N"],
    valid: int,
    test: int,
    elsewhere: UInt64[np.ndarray, " M"],
) -> Int8[np.ndarray, " N"]:
    """Say from digests what becomes of each of N pairs: TRAIN, VALID, TEST, DUPLICATE, HELD_OUT.

    The distinct sources, in the order of their digests, which is a fair shuffle and depends on
    nothing but the text: the first ``test`` of them are for testing, the next ``valid`` for
    validation. Of a source held out so, the first pair is taken and others are HELD_OUT, so that
    the splits have exactly the sizes asked for and share no source. HELD_OUT, too, are the sources
    ``elsewhere``, in splits that are there already.
    """
    labels = np.full(len(pairs), DUPLICATE, np.int8)
    taken = np.isin(sources, elsewhere)
    labels[taken] = HELD_OUT
    _, first = np.unique(pairs, return_index=True)
    first = np.sort(first[~taken[first]])  # pairs that are no duplicates, in the order of the text
    distinct, leader, source = np.unique(sources[first], return_index=True, return_inverse=True)
    if len(distinct) <= valid + test:
        raise UserError(
            f"The corpus has only {len(distinct)} distinct sources in no other file, too few for "
            f"corpus.valid_pairs={valid}, corpus.test_pairs={test} and any training text; lower "
            "these, or give more text."
        )
    split = np.full(len(distinct), TRAIN, np.int8)
    split[:test] = TEST
    split[test : test + valid] = VALID
    kept = split[source]
    follows = np.ones(len(first), bool)
    follows[leader] = False
    kept[(kept != TRAIN) & follows] = HELD_OUT
    labels[first] = kept
    return labels


def write_splits(
    folder: Path,
    languages: tuple[str, str],
    ways: Int8[np.ndarray, " N"],
    pairs: Iterable[tuple[str, str]],
) -> dict[str, int]:
    """Write those of ``pairs`` that go to a split to its files, {train,valid,test}.<language>.

    Returns how many pairs went each of the :data:`WAYS`, and ``read``, the sum.
    """
    with ExitStack() as stack:
        files = {
            way: [
                stack.enter_context(LineWriter(folder / f"{WAYS[way]}.{language}"))
                for language in languages
            ]
            for way in {TRAIN, VALID, TEST}.intersection(ways.tolist())
        }
        for way, pair in zip(ways.tolist(), pairs, strict=True):
            for file, line in zip(files.get(way, ()), pair, strict=False):
                file.write(line)
    sizes = np.bincount(ways, minlength=len(WAYS)).tolist()
    counts = {"read": len(ways), **dict(zip(WAYS, sizes, strict=True))}
    log.info("Pairs: %s", ", ".join(f"{way} {size:,}" for way, size in counts.items() if size))
    return counts


def _pairs(config: CleanedCorpus, texts: dict[str, Path], what: str) -> Iterator[tuple[str, str]]:
    """Yield (source, target), stripped."""
    pairs = read_pairs(texts[config.source], texts[config.target])
    for source, target in tqdm(pairs, f"{config.kind}: {what}", unit=" pairs", disable=None):
        yield source.strip(), target.strip()


def _label(config: CleanedCorpus, source: str, target: str) -> int:
    """Say why a pair is dropped; TRAIN where it is kept."""
    shorter, longer = sorted((word_count(source), word_count(target)))
    if not shorter:
        return EMPTY
    if longer > config.max_words:
        return TOO_LONG
    return UNEVEN if longer > config.max_ratio * shorter else TRAIN


def source_digests_of(files: Iterable[Path]) -> UInt64[np.ndarray, " M"]:
    """The :func:`source_digest` of every line of the files."""
    return np.array([source_digest(line) for path in files for line in read_lines(path)], np.uint64)


def source_digest(source: str) -> int:
    """64 bits of a source but for capitals and spacing: near-equal sources share a split."""
    return _digest(" ".join(source.split()).casefold())


def pair_digest(english: str, french: str) -> int:
    """32 bits of a pair but for capitals and spacing: of two million pairs, about 200 have that of
    a pair of a sample by chance.
    """
    text = "\t".join("".join(side.split()).casefold() for side in (english, french))
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=4).digest(), "big")


def _digest(text: str) -> int:
    """64 bits: among two million pairs two meet by chance once in ten million corpora."""
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big")
