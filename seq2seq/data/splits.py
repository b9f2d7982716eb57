"""Clean and split a parallel text deterministically.

Two passes read the text; neither holds it in memory. The first drops unusable pairs and keeps 16
bytes of hashes per remaining pair. From these hashes :func:`assign` finds duplicates and assigns
each pair to a split. The second pass writes the splits.
"""

import hashlib
import json
import logging
from array import array
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Int8, UInt64
from tqdm import tqdm

from seq2seq.config import EuroparlCorpus
from seq2seq.data.text import LineWriter, TextFolder, read_lines, read_pairs, word_count
from seq2seq.errors import UserError
from seq2seq.files import digest, make_folder, write_json

log = logging.getLogger(__name__)

RULES = 2
"""Version of the cleaning and splitting; text of an older version is made again."""

WAYS = ("train", "valid", "test", "duplicate", "held_out", "empty", "too_long", "uneven")
TRAIN, VALID, TEST, DUPLICATE, HELD_OUT, EMPTY, TOO_LONG, UNEVEN = range(len(WAYS))
"""Labels of pairs, as indices of WAYS. HELD_OUT: the source is already in a validation or test
text, so the pair is in no split."""


def made_text(
    home: Path, prefix: str, recipe: list[Any], fill: Callable[[Path], object]
) -> TextFolder:
    """Return a folder below ``home``, named by a hash of ``recipe``, and a function to make it."""
    folder = home / f"{prefix}{digest([json.dumps([RULES, *recipe]).encode()])[:12]}"
    return folder, partial(make_folder, folder, fill)


def clean_and_split(
    config: EuroparlCorpus, texts: dict[str, Path], folder: Path, **origin: Any
) -> dict[str, int]:
    """Write {train,valid,test}.<language> and cleaning.json into ``folder`` from the raw texts.

    ``texts``: language -> raw file; ``origin``: entries of cleaning.json about the raw files.
    Returns the number of pairs with each label of :data:`WAYS`, and their sum as ``read``.
    UserError if the raw files have different numbers of lines, or if too few pairs remain.
    """
    languages = config.source, config.target
    labels = bytearray()
    pair_digests, source_digests = array("Q"), array("Q")
    for source, target in stripped_pairs(config, texts, "cleaning"):
        labels.append(_label(config, source, target))
        if labels[-1] == TRAIN:
            pair_digests.append(_digest(f"{source}\n{target}"))
            source_digests.append(source_digest(source))
    ways = np.frombuffer(labels, np.int8)
    ways[ways == TRAIN] = assign(
        np.array(pair_digests, np.uint64),
        np.array(source_digests, np.uint64),
        config.valid_pairs,
        config.test_pairs,
        np.array([], np.uint64),
    )
    counts = write_splits(folder, languages, ways, stripped_pairs(config, texts, "splitting"))
    settings = {key: getattr(config, key) for key in ("source", "target", "max_words", "max_ratio")}
    report = {"rules": RULES, **origin, **settings, "pairs": counts}
    write_json(folder / "cleaning.json", report)
    return counts


def assign(
    pairs: UInt64[np.ndarray, " N"],
    sources: UInt64[np.ndarray, " N"],
    valid: int,
    test: int,
    elsewhere: UInt64[np.ndarray, " M"],
) -> Int8[np.ndarray, " N"]:
    """Label each of N pairs, from the hashes of pairs and sources.

    Pairs whose source is in ``elsewhere``, the sources of existing splits, are HELD_OUT. Of the
    others, a pair that equals an earlier one is DUPLICATE. The distinct sources of the rest are
    sorted by hash. This order is random, but depends only on the text. The first ``test`` sources
    are for testing, and the next ``valid`` sources are for validation. Only the first pair of such
    a source is TEST or VALID; its other pairs are HELD_OUT. All other pairs are TRAIN. So test and
    validation text have exact sizes, and no two splits have a source in common. UserError if no
    source is left for training.
    """
    labels = np.full(len(pairs), DUPLICATE, np.int8)
    taken = np.isin(sources, elsewhere)
    labels[taken] = HELD_OUT
    _, first = np.unique(pairs, return_index=True)
    first = np.sort(first[~taken[first]])  # the first of equal pairs, in the order of the text
    distinct, leader, source = np.unique(sources[first], return_index=True, return_inverse=True)
    if len(distinct) <= valid + test:
        raise UserError(
            f"The text has only {len(distinct)} distinct source sentences that no other split "
            f"has, too few for corpus.valid_pairs={valid}, corpus.test_pairs={test} and any "
            "training text; lower these settings, or add text."
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
    labels: Int8[np.ndarray, " N"],
    pairs: Iterable[tuple[str, str]],
) -> dict[str, int]:
    """Write each pair to the file of its split, {train,valid,test}.<language>.

    Labels are indices of :data:`WAYS`. Pairs whose label names no split, such as duplicates, are
    left out. Returns the number of pairs with each label, and their sum as ``read``.
    """
    with ExitStack() as stack:
        files = {
            way: [
                stack.enter_context(LineWriter(folder / f"{WAYS[way]}.{language}"))
                for language in languages
            ]
            for way in {TRAIN, VALID, TEST}.intersection(labels.tolist())
        }
        for way, pair in zip(labels.tolist(), pairs, strict=True):
            for file, line in zip(files.get(way, ()), pair, strict=False):
                file.write(line)
    sizes = np.bincount(labels, minlength=len(WAYS)).tolist()
    counts = {"read": len(labels), **dict(zip(WAYS, sizes, strict=True))}
    log.info("Pairs: %s", ", ".join(f"{way} {size:,}" for way, size in counts.items() if size))
    return counts


def stripped_pairs(
    config: EuroparlCorpus, texts: dict[str, Path], what: str
) -> Iterator[tuple[str, str]]:
    pairs = read_pairs(texts[config.source], texts[config.target])
    for source, target in tqdm(pairs, f"{config.kind}: {what}", unit=" pairs", disable=None):
        yield source.strip(), target.strip()


def _label(config: EuroparlCorpus, source: str, target: str) -> int:
    """Return the label of a pair that cleaning drops; TRAIN for other pairs."""
    shorter, longer = sorted((word_count(source, config.source), word_count(target, config.target)))
    if not shorter:
        return EMPTY
    if longer > config.max_words:
        return TOO_LONG
    return UNEVEN if longer > config.max_ratio * shorter else TRAIN


def source_digests(sources: Iterable[str]) -> UInt64[np.ndarray, " M"]:
    """Return the :func:`source_digest` of each source."""
    return np.array([source_digest(source) for source in sources], np.uint64)


def source_digests_of(files: Iterable[Path]) -> UInt64[np.ndarray, " M"]:
    """Return the :func:`source_digest` of every line of the files."""
    return source_digests(line for path in files for line in read_lines(path))


def source_digest(source: str) -> int:
    """Return a 64-bit hash of a source, ignoring case and extra spaces."""
    return _digest(" ".join(source.split()).casefold())


def _digest(text: str) -> int:
    """Return a 64-bit hash. For two million pairs, the probability of a collision is about 1e-7."""
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big")
