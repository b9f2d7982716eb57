"""Text of the user's: a folder, or one file of tab-separated pairs, and splits taken from it."""

import json
import shutil
from array import array
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from seq2seq.config import FilesCorpus
from seq2seq.data.europarl import RULES, TRAIN, assign, source_digest, write_splits
from seq2seq.data.text import SIDES, find_file, find_pair, find_test_names, read_lines, read_pairs
from seq2seq.errors import UserError
from seq2seq.files import digest, file_state, make_folder


def text_folder(config: FilesCorpus, own: Path | None, home: Path) -> Path:
    """Return ``own``, or a folder below ``home`` with splits taken from its training text.

    Raises:
        UserError: there is no training text, or too little; a split is neither there nor asked for,
            or it is both; a line is not a pair.
    """
    if own is None:
        raise UserError("corpus=files needs corpus.directory=FOLDER with your text.")
    sizes = {"valid": config.valid_pairs, "test": config.test_pairs}
    if own.is_dir() and not any(sizes.values()):
        return own
    kept: list[Path] = []
    for split, size in sizes.items():
        found = _find(config, own, split)
        if bool(found) == bool(size):
            raise UserError(
                f"{own}: give either {split} files or corpus.{split}_pairs=500, to take them from "
                "the training text; one file needs corpus.valid_pairs=500 corpus.test_pairs=500."
            )
        kept += found
    texts = [own] if own.is_file() else _find(config, own, "train")
    if own.is_dir() and len(texts) < len(SIDES):
        names = f"train.{config.source} and train.{config.target}"
        raise UserError(f"{own} does not hold {names}; give your two files these names.")
    recipe = [RULES, sizes, *map(file_state, texts + kept)]

    def fill(folder: Path) -> None:
        for path in kept:
            shutil.copy(path, folder)
        _split(config, texts, folder)

    name = digest([json.dumps(recipe).encode()])[:12]
    return make_folder(home / f"{config.source}-{config.target}-{name}", fill)


def _find(config: FilesCorpus, own: Path, split: str) -> list[Path]:
    """The files of a split that the user made."""
    languages = config.source, config.target
    if split == "train":
        pairs = [(f"train.{one}", f"train.{other}") for one, other in (languages, SIDES)]
        return [path for path in find_pair(own, pairs).values() if path is not None]
    stems = find_test_names(own, languages) if split == "test" else ["valid", "val"]
    names = (f"{stem}.{ending}" for stem in stems for ending in (*languages, *SIDES, "align"))
    return [path for name in names if (path := find_file(own, [name])) is not None]


def _split(config: FilesCorpus, texts: list[Path], folder: Path) -> None:
    """Write the training text and what is taken from it; no source is in two of these splits."""
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
    )
    write_splits(folder, (config.source, config.target), ways, _pairs(texts))


def _pairs(texts: list[Path]) -> Iterator[tuple[str, str]]:
    if len(texts) == len(SIDES):
        yield from read_pairs(*texts)
        return
    for number, line in enumerate(read_lines(texts[0]), start=1):
        source, *targets = line.split("\t")
        if len(targets) != 1:
            raise UserError(f"{texts[0]}, line {number} is not a sentence, a tab, its translation.")
        yield source, targets[0]
