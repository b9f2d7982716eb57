"""Find the user's text (a folder, or one file of tab-separated pairs); split it if asked to."""

import logging
import shutil
from array import array
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from seq2seq.config import FilesCorpus, in_words
from seq2seq.data.splits import (
    TRAIN,
    assign,
    made_text,
    source_digest,
    source_digests_of,
    write_splits,
)
from seq2seq.data.text import (
    SIDES,
    ParallelText,
    TextFolder,
    check_text,
    count_lines,
    find_test_names,
    find_text,
    read_lines,
    read_pairs,
)
from seq2seq.errors import UserError
from seq2seq.files import file_state

log = logging.getLogger(__name__)


def text_folder(config: FilesCorpus, own: Path | None, home: Path) -> TextFolder:
    """Return the folder of the text, and the function to make it (None for ``own``).

    The folder is ``own``, or one below ``home`` if validation or test text must be split off.
    UserError if ``own`` is None. A folder of which nothing is split off is not checked here.
    Otherwise UserError, here or from the function, if the training text is missing or too short, if
    a line is not a pair, if a validation or test file has no translation, or if validation or test
    text has both files and a setting of its size, or neither.
    """
    if own is None:
        raise UserError("corpus=files needs your text; set corpus.directory=FOLDER.")
    sizes = {"valid": config.valid_pairs, "test": config.test_pairs}
    if own.is_dir() and not any(sizes.values()):
        return own, None
    languages, kept = (config.source, config.target), dict[str, ParallelText]()
    train = None if own.is_file() else find_text(own, "train", languages)[0]
    if not (train or own.is_file()):
        files = f"train.{config.source} and train.{config.target}"
        raise UserError(f"{in_words(own)}; rename your two files of training text to {files}.")
    texts = train.files if train else [own]
    if not train and "\t" not in next(read_lines(own), ""):
        raise UserError(
            f"{own}, line 1 has no tab; to use the files in its folder, set "
            f"corpus.directory={own.parent}; to make a table of two columns, run "
            "paste SOURCE TARGET > pairs.tsv."
        )
    lacking = list[str]()
    for split, size in sizes.items():
        names = [split] if split == "valid" else find_test_names(own, languages)
        found = dict[str, ParallelText]()
        for name in names:
            text, missing = find_text(own, name, languages)
            if text:
                found[name] = text
            elif len(missing) == 1:
                raise UserError(
                    f"{own} has a {name} file without its translation; add {missing[0]}, or move "
                    f"the other {name} file away."
                )
        if found and size:
            raise UserError(
                f"{own} has {split} files, so no {split} pairs are taken from the training text; "
                f"move these files away, or remove the setting corpus.{split}_pairs."
            )
        lacking += [split] * (not found and not size)
        kept |= found
    if lacking:
        remedy = advised_split(texts[0], lacking)
        split_names = " or ".join(lacking).replace("valid", "validation")
        raise UserError(
            f"There is no {split_names} text for {own}; to take it from the training text, set "
            f"{remedy}."
        )
    copied = [path for text in kept.values() for path in text.files]
    recipe = [sizes, *map(file_state, [*texts, *copied])]

    def fill(folder: Path) -> None:
        for name, text in kept.items():
            check_text(name, text)
        for path in copied:
            shutil.copy(path, folder)
        _split(config, texts, [text.source for text in kept.values()], folder)

    return made_text(home, f"{config.source}-{config.target}-", recipe, fill)


def advised_split(text: Path, splits: Sequence[str]) -> str:
    """Return settings that split off ``splits``: 500 pairs each; a tenth of a text below 5,000."""
    pairs = max(1, min(500, count_lines(text) // 10))
    return " ".join(f"corpus.{split}_pairs={pairs}" for split in splits)


def _split(config: FilesCorpus, texts: list[Path], kept: list[Path], folder: Path) -> None:
    """Split the training text; no source of one split is in another split or in ``kept``."""
    if len(texts) == 1 and next(read_lines(texts[0]), "").count("\t") > 1:
        log.warning("%s has more than two columns; only the first two are used.", texts[0])
    complete, digests = bytearray(), array("Q")
    for source, target in _pairs(texts):
        complete.append(bool(source.strip() and target.strip()))
        if complete[-1]:
            digests.append(source_digest(source))
    ways = np.full(len(complete), TRAIN, np.int8)
    ways[np.frombuffer(complete, bool)] = assign(
        np.arange(len(digests), dtype=np.uint64),  # all differ: no pair is a DUPLICATE here
        np.array(digests, np.uint64),
        config.valid_pairs or 0,
        config.test_pairs or 0,
        source_digests_of(kept),
    )
    write_splits(folder, (config.source, config.target), ways, _pairs(texts))


def _pairs(texts: list[Path]) -> Iterator[tuple[str, str]]:
    """Yield pairs from two files, or from one tab-separated file; skip columns after the second."""
    if len(texts) == len(SIDES):
        yield from read_pairs(*texts)
        return
    first = next(read_lines(texts[0]), "").count("\t")
    for number, line in enumerate(read_lines(texts[0]), start=1):
        if line.count("\t") != first:
            raise UserError(
                f"{texts[0]}, line {number} must be a sentence, a tab and its translation, with "
                "the same number of columns as line 1; correct it."
            )
        source, target, *_ = line.split("\t")
        yield source, target
