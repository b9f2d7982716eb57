"""Text of the user's: a folder, or one file of tab-separated pairs, and splits taken from it."""

import json
import logging
import shutil
from array import array
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import numpy as np

from seq2seq.config import FilesCorpus
from seq2seq.data.europarl import RULES, TEST, TRAIN, WAYS, assign, source_digest
from seq2seq.data.text import (
    SIDES,
    LineWriter,
    find_file,
    find_pair,
    find_test_names,
    read_lines,
    read_pairs,
)
from seq2seq.errors import UserError
from seq2seq.files import digest, file_state, make_folder

log = logging.getLogger(__name__)


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
    found = {split: _find(config, own, split) for split in sizes}
    for split, files in found.items():
        if sizes[split] and files:
            raise UserError(f"{files[0]} is there; leave corpus.{split}_pairs out, or remove it.")
    if absent := [split for split in sizes if not (sizes[split] or found[split])]:
        raise UserError(
            f"{own} has no {' and no '.join(absent)} text; give "
            f"{' '.join(f'corpus.{split}_pairs=500' for split in absent)} to take pairs of the "
            "training text."
        )
    kept = found["valid"] + found["test"]
    texts = _training_text(config, own)
    recipe = [RULES, sizes, *map(file_state, [*texts, *kept])]
    name = digest([json.dumps(recipe).encode()])[:12]

    def fill(folder: Path) -> None:
        for path in kept:
            shutil.copy(path, folder)
        _split(config, texts, folder)

    return make_folder(home / f"{config.source}-{config.target}-{name}", fill)


def _find(config: FilesCorpus, own: Path, split: str) -> list[Path]:
    """The files of a split that the user made."""
    stems = ["valid", "val"]
    if split == "test":
        stems = find_test_names(own, (config.source, config.target))
    endings = (config.source, config.target, *SIDES, "align")
    paths = [find_file(own, [f"{stem}.{ending}"]) for stem in stems for ending in endings]
    return [path for path in paths if path is not None]


def _training_text(config: FilesCorpus, own: Path) -> list[Path]:
    """The file of pairs, or the two sides of the training text."""
    if own.is_file():
        return [own]
    endings = (config.source, config.target), SIDES
    pair = find_pair(own, [(f"train.{source}", f"train.{target}") for source, target in endings])
    missing = [name for name, path in pair.items() if path is None]
    if missing:
        raise UserError(f"{own} lacks {' and '.join(missing)} (or the same with .gz or .xz).")
    return [path for path in pair.values() if path is not None]


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
    counts = np.bincount(ways, minlength=len(WAYS))
    with ExitStack() as stack:
        writers = {
            (way, side): stack.enter_context(LineWriter(folder / f"{WAYS[way]}.{language}"))
            for way in range(TEST + 1)
            if counts[way]
            for side, language in enumerate((config.source, config.target))
        }
        for way, pair in zip(ways.tolist(), _pairs(texts), strict=True):
            for side in range(len(SIDES) if way <= TEST else 0):
                writers[way, side].write(pair[side])
    taken = ", ".join(f"{WAYS[way]} {counts[way]:,}" for way in range(TEST + 1) if counts[way])
    log.info("Pairs of %s: %s", " and ".join(map(str, texts)), taken)


def _pairs(texts: list[Path]) -> Iterator[tuple[str, str]]:
    if len(texts) == len(SIDES):
        yield from read_pairs(*texts)
        return
    for number, line in enumerate(read_lines(texts[0]), start=1):
        source, *targets = line.split("\t")
        if len(targets) != 1:
            raise UserError(
                f"{texts[0]}, line {number} has {len(targets)} tabs; a line must be a sentence, a "
                "tab and its translation."
            )
        yield source, targets[0]
