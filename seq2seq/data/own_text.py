"""Text of the user's: a folder, or one file of tab-separated pairs, and splits taken from it."""

import json
import logging
import shutil
from array import array
from collections.abc import Iterator
from functools import partial
from itertools import chain
from pathlib import Path

import numpy as np

from seq2seq.config import FilesCorpus
from seq2seq.data.splits import RULES, TRAIN, assign, source_digest, source_digests_of, write_splits
from seq2seq.data.text import (
    SIDES,
    TextFolder,
    find_file,
    find_pair,
    find_test_names,
    read_lines,
    read_pairs,
)
from seq2seq.errors import UserError
from seq2seq.files import digest, file_state, make_folder

log = logging.getLogger(__name__)


def text_folder(config: FilesCorpus, own: Path | None, home: Path) -> TextFolder:
    """``own``, or a folder below ``home``, and what takes splits from its training text.

    Raises, also as it makes the folder:
        UserError: there is no training text, or too little; a split is neither there nor asked for,
            or it is both; a line is not a pair.
    """
    if own is None:
        raise UserError("corpus=files needs corpus.directory=FOLDER with your text.")
    sizes = {"valid": config.valid_pairs, "test": config.test_pairs}
    if own.is_dir() and not any(sizes.values()):
        return own, None
    kept: list[list[Path]] = []
    for split, size in sizes.items():
        found = _find(config, own, split)
        if bool(found) == bool(size):
            raise UserError(
                f"{own}: give either {split} files or corpus.{split}_pairs=500, to take them from "
                "the training text; one file needs corpus.valid_pairs=500 corpus.test_pairs=500."
            )
        kept += found
    texts = [own] if own.is_file() else [*chain(*_find(config, own, "train"))][: len(SIDES)]
    if not texts:
        names = f"train.{config.source} and train.{config.target}"
        raise UserError(f"{own} does not hold {names}; give your two files these names.")
    recipe = [RULES, sizes, *map(file_state, [*texts, *chain(*kept)])]

    def fill(folder: Path) -> None:
        for path in chain(*kept):
            shutil.copy(path, folder)
        _split(config, texts, [source for source, *_ in kept], folder)

    name = digest([json.dumps(recipe).encode()])[:12]
    folder = home / f"{config.source}-{config.target}-{name}"
    return folder, partial(make_folder, folder, fill)


def _find(config: FilesCorpus, own: Path, split: str) -> list[list[Path]]:
    """The source, the target and perhaps the word links of each text that the user has made."""
    languages, texts = (config.source, config.target), []
    stems = {"train": ["train"], "valid": ["valid", "val"]}
    for stem in stems.get(split) or find_test_names(own, languages):
        names = [(f"{stem}.{one}", f"{stem}.{other}") for one, other in (languages, SIDES)]
        found = *find_pair(own, names).values(), find_file(own, [f"{stem}.align"])
        if all(found[: len(SIDES)]):
            texts.append([path for path in found if path])
    return texts


def _split(config: FilesCorpus, texts: list[Path], kept: list[Path], folder: Path) -> None:
    """Write the training text and what is taken from it; no source is in two splits or ``kept``."""
    if len(texts) == 1 and next(read_lines(texts[0]), "").count("\t") > 1:
        log.warning("%s has more than two columns; the others are left out.", texts[0])
    complete, digests = bytearray(), array("Q")
    for source, target in _pairs(texts):
        complete.append(bool(source.strip() and target.strip()))
        if complete[-1]:
            digests.append(source_digest(source))
    ways = np.full(len(complete), TRAIN, np.int8)
    ways[np.frombuffer(complete, bool)] = assign(
        np.arange(len(digests), dtype=np.uint64),  # a pair may come twice in training
        np.array(digests, np.uint64),
        config.valid_pairs or 0,
        config.test_pairs or 0,
        source_digests_of(kept),
    )
    write_splits(folder, (config.source, config.target), ways, _pairs(texts))


def _pairs(texts: list[Path]) -> Iterator[tuple[str, str]]:
    """The pairs of two files, or of one table, whose further columns are left out."""
    if len(texts) == len(SIDES):
        yield from read_pairs(*texts)
        return
    first = next(read_lines(texts[0]), "").count("\t")
    for number, line in enumerate(read_lines(texts[0]), start=1):
        if not line.count("\t") == first > 0:
            raise UserError(
                f"{texts[0]}, line {number} is not a sentence, a tab, its translation, in as many "
                "columns as line 1."
            )
        source, target, *_ = line.split("\t")
        yield source, target
