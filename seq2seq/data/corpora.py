"""Text of a corpus: found or made, split by hashes of its sources, and checked."""

import hashlib
import json
import logging
import re
import shutil
from array import array
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from functools import partial
from importlib import import_module
from itertools import chain, islice
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Int8, UInt64
from tqdm import tqdm

from seq2seq.config import CorpusConfig, FilesCorpus, Multi30kCorpus
from seq2seq.config.settings import unspaced
from seq2seq.data.text import (
    SIDES,
    Corpus,
    LineWriter,
    ParallelText,
    TextFolder,
    find_texts,
    read_lines,
    read_pairs,
    warn_once,
)
from seq2seq.errors import UserError
from seq2seq.files import digest, file_state, make_folder

log = logging.getLogger(__name__)

LEARNED = "learned.npy"
"""File of a run folder: sorted hashes of the sources that the model has learned from."""
RULES = 2
"""Version of the cleaning and splitting; text of an older version is made again."""
WAYS = ("train", "valid", "test", "duplicate", "held_out", "empty", "too_long", "uneven")
TRAIN, VALID, TEST, DUPLICATE, HELD_OUT, EMPTY, TOO_LONG, UNEVEN = range(len(WAYS))
"""Labels of pairs, as indices of WAYS. HELD_OUT: the source is already in a validation or test
text, so the pair is in no split."""
OPEN = len(WAYS)
"""Label of a pair that :func:`assign` has yet to label."""


def load_corpus(config: CorpusConfig, data: Path) -> Corpus:
    """Return the text files of a corpus, checked; what is missing is made below ``data``."""
    texts = load_texts(config, data, "train", "valid")
    train, valid = texts.pop("train"), texts.pop("valid")
    return Corpus(config.kind, config.source, config.target, train, valid, texts)


def load_texts(config: CorpusConfig, data: Path, *splits: str) -> dict[str, ParallelText]:
    """Return the text of ``splits`` and of all test sets, checked.

    What is missing is made or downloaded only with ``splits``."""
    own = Path(config.directory) if config.directory else None
    home = data / "corpora" / config.kind
    if isinstance(config, FilesCorpus):
        folder, fill = _own_folder(config, own, home)
    else:  # each other kind has a module of its name
        module = import_module(f"seq2seq.data.{config.kind}")
        folder, fill = module.text_folder(config, own, home)
    if splits and fill:
        make_folder(folder, fill)
    if not folder.is_dir():
        raise UserError(
            f"There is no folder {folder}; run prepare with the same settings, or set "
            f"{'corpus.' if splits else ''}directory=FOLDER to a folder of text files "
            "(cut -f makes files of columns)."
        )
    found = find_texts(folder, (config.source, config.target))
    tests = [name for name in found if name.startswith("test")] or ["test"]
    if isinstance(config, Multi30kCorpus):
        tests = [*module.TESTS]
    names = [*splits, *tests]
    if lacking := ", ".join(name for name in names if name not in found):
        remedy = ", or set corpus.valid_pairs or corpus.test_pairs" * (config.kind == "files")
        raise UserError(
            f"{folder} has no {lacking} text of corpus.source={config.source} and corpus.target="
            f"{config.target}; add files such as train.{config.source} (plain, .gz or .xz){remedy}."
        )
    texts = {name: found[name] for name in names}
    for text in texts.values():
        if not sum(1 for _ in read_pairs(text.source, text.target)):
            raise UserError(f"{text.source} is empty; it needs at least one line.")
    if isinstance(config, Multi30kCorpus):
        module.verify(config, texts)
    return texts


def _own_folder(config: FilesCorpus, own: Path | None, home: Path) -> TextFolder:
    """Return the user's folder, or the one below ``home`` of text split off the training text."""
    if own is None:
        raise UserError("corpus=files needs your text; set corpus.directory=FOLDER.")
    sizes = {"valid": config.valid_pairs or 0, "test": config.test_pairs or 0}
    texts = (
        find_texts(own, (config.source, config.target))
        if any(sizes.values()) and own.is_dir()
        else {}
    )
    if "train" not in texts:
        return own, None
    kept = [text for name, text in texts.items() if name == "valid" or name.startswith("test")]
    for split, size in sizes.items():
        if bool(size) == any(name.startswith(split) for name in texts):
            has, remedy = ("has", "remove") if size else ("has no", "set")
            raise UserError(f"{own} {has} {split} files; {remedy} corpus.{split}_pairs.")
    files = [path for text in (texts["train"], *kept) for path in (text.source, text.target)]

    def fill(folder: Path) -> None:
        for path in files[2:]:
            shutil.copy(path, folder)
        split_text(
            folder,
            (config.source, config.target),
            partial(read_pairs, *files[:2]),
            lambda source, target: OPEN if source.strip() and target.strip() else TRAIN,
            (sizes["valid"], sizes["test"]),
            kept=files[2::2],
        )

    return recipe_folder(home, config, sizes, *map(file_state, files)), fill


def recipe_folder(home: Path, config: CorpusConfig, *recipe: Any) -> Path:
    """Return a folder below ``home``, named by a hash of what its text is made from."""
    code = digest([json.dumps([RULES, *recipe]).encode()])[:12]
    return home / f"{config.source}-{config.target}-{code}"


def split_text(
    folder: Path,
    languages: tuple[str, str],
    read: Callable[[], Iterator[tuple[str, str]]],
    label: Callable[[str, str], int],
    sizes: tuple[int, int],
    *,
    kept: Iterable[Path] = (),
    unique: bool = False,
) -> dict[str, int]:
    """Write {train,valid,test}.<language> from pairs; return the number of pairs by label.

    ``sizes`` are those of valid and test. Sources in the files ``kept`` get into no split. With
    ``unique``, only the first of equal pairs does.
    """
    labels, pairs, sources = bytearray(), array("Q"), array("Q")
    for source, target in tqdm(read(), "reading", unit=" pairs", disable=None):
        labels.append(label(source, target))
        if labels[-1] == OPEN:
            pairs.append(_digest(f"{source}\n{target}") if unique else len(pairs))
            sources.append(source_digest(source))
    kept_sources = chain.from_iterable(map(read_lines, kept))
    ways = np.frombuffer(labels, np.int8)
    digests = np.array(pairs, np.uint64), np.array(sources, np.uint64)
    ways[ways == OPEN] = assign(*digests, *sizes, source_digests(kept_sources))
    with ExitStack() as stack:
        files = {
            way: [
                stack.enter_context(LineWriter(folder / f"{WAYS[way]}.{language}"))
                for language in languages
            ]
            for way in {TRAIN, VALID, TEST}.intersection(labels)
        }
        pairs_again = tqdm(read(), "splitting", len(ways), unit=" pairs", disable=None)
        for way, pair in zip(labels, pairs_again, strict=True):
            for file, line in zip(files.get(way, ()), pair, strict=False):
                file.write(line)
    counts = dict(zip(WAYS, np.bincount(ways, minlength=len(WAYS)).tolist(), strict=True))
    log.info("Pairs: %s", ", ".join(f"{way} {size:,}" for way, size in counts.items() if size))
    return {"read": len(ways), **counts}


def assign(
    pairs: UInt64[np.ndarray, " N"],
    sources: UInt64[np.ndarray, " N"],
    valid: int,
    test: int,
    elsewhere: UInt64[np.ndarray, " M"],
) -> Int8[np.ndarray, " N"]:
    """Label N pairs, from the hashes of pairs and sources, so that no two splits share a source.

    Sources of ``elsewhere`` are HELD_OUT. Of the others, sorted by hash, the first ``test`` are
    TEST, the next ``valid`` are VALID, each with one pair; their further pairs are HELD_OUT.
    """
    labels = np.full(len(pairs), DUPLICATE, np.int8)
    taken = np.isin(sources, elsewhere)
    labels[taken] = HELD_OUT
    _, first = np.unique(pairs, return_index=True)
    first = np.sort(first[~taken[first]])  # the first of equal pairs, in the order of the text
    distinct, leader, source = np.unique(sources[first], return_index=True, return_inverse=True)
    if len(distinct) <= valid + test:
        raise UserError(
            f"The text has only {len(distinct)} distinct source sentences for corpus.valid_pairs="
            f"{valid}, corpus.test_pairs={test} and training; lower them, or add text."
        )
    split = np.repeat([TEST, VALID, TRAIN], [test, valid, len(distinct) - test - valid])
    labels[first] = np.where(split == TRAIN, TRAIN, HELD_OUT)[source]
    labels[first[leader]] = split
    return labels


def source_digests(sources: Iterable[str]) -> UInt64[np.ndarray, " M"]:
    return np.array([source_digest(source) for source in sources], np.uint64)


def source_digest(source: str) -> int:
    """Return a 64-bit hash of a source, ignoring case and extra spaces."""
    return _digest(" ".join(source.split()).casefold())


def _digest(text: str) -> int:
    """64-bit hash; the probability of a collision among two million pairs is about 1e-7."""
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big")


def read_learned(run: Path) -> UInt64[np.ndarray, " N"]:
    """Hashes of the sources that the model of a run folder has learned from; [] if not known."""
    try:
        return np.asarray(np.load(run / LEARNED, mmap_mode="r"), np.uint64)
    except (OSError, ValueError):
        log.info("%s has no readable %s: leaked test text is not noticed.", run, LEARNED)
        return np.zeros(0, np.uint64)


def warn_if_learned(name: str, sources: Iterable[str], learned: UInt64[np.ndarray, " N"]) -> None:
    """Warn, once for each text, of sources that were learned, but for case and spaces."""
    seen = np.isin(source_digests(sources), learned)
    if seen.any():
        warn_once(
            f"{name}: {seen.sum():,} of {len(seen):,} sources are also in the training text, so "
            "scores on them are too good; take these pairs out of the training text."
        )


def _words(text: ParallelText, side: str, language: str) -> set[str]:
    pattern = re.compile(r"\w" if unspaced(language) else r"\w+")
    lines = islice(read_lines(getattr(text, side)), 5_000)
    return {word for line in lines for word in pattern.findall(line)}


def require_sides(corpus: Corpus) -> None:
    """Refuse validation or test text of which a side has the words of the other training side."""
    languages = corpus.source_language, corpus.target_language
    for side, other, language in zip(SIDES, SIDES[::-1], languages, strict=True):
        known = [_words(corpus.train, each, language) for each in (side, other)]
        for name, text in {"valid": corpus.valid, **corpus.tests}.items():
            found = _words(text, side, language)
            own, crossed = (len(found & words) / max(len(found), 20) for words in known)
            if crossed > 0.5 and own < crossed / 2:
                raise UserError(
                    f"{getattr(text, side)} has {crossed:.0%} of its words in common with "
                    f"{getattr(corpus.train, other)}, but {own:.0%} with "
                    f"{getattr(corpus.train, side)}; exchange the {name} or the train files of the "
                    "two languages."
                )
