"""Find the folder of the user's text; split the training text if asked to."""

import shutil
from array import array
from collections.abc import Sequence
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
    ParallelText,
    TextFolder,
    check_text,
    count_lines,
    find_test_names,
    find_text,
    read_pairs,
)
from seq2seq.errors import UserError
from seq2seq.files import file_state


def text_folder(config: FilesCorpus, own: Path | None, home: Path) -> TextFolder:
    """Return the folder of the text, and the function to make it (None for ``own``).

    The folder is ``own``, or one below ``home`` if validation or test text must be split off.
    """
    if own is None:
        raise UserError("corpus=files needs your text; set corpus.directory=FOLDER.")
    sizes = {"valid": config.valid_pairs, "test": config.test_pairs}
    if not any(sizes.values()):
        return own, None
    languages, kept = (config.source, config.target), dict[str, ParallelText]()
    train, _ = find_text(own, "train", languages)
    if not train:
        files = f"train.{config.source} and train.{config.target}"
        raise UserError(f"{in_words(own)}; rename your two files of training text to {files}.")
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
        remedy = advised_split(train.source, lacking)
        split_names = " or ".join(lacking).replace("valid", "validation")
        raise UserError(
            f"There is no {split_names} text for {own}; to take it from the training text, set "
            f"{remedy}."
        )
    copied = [path for text in kept.values() for path in text.files]
    recipe = [sizes, *map(file_state, [train.source, train.target, *copied])]

    def fill(folder: Path) -> None:
        for name, text in kept.items():
            check_text(name, text)
        for path in copied:
            shutil.copy(path, folder)
        _split(config, train, [text.source for text in kept.values()], folder)

    return made_text(home, f"{config.source}-{config.target}-", recipe, fill)


def advised_split(text: Path, splits: Sequence[str]) -> str:
    """Return settings that split off ``splits``: 500 pairs each; a tenth of a text below 5,000."""
    pairs = max(1, min(500, count_lines(text) // 10))
    return " ".join(f"corpus.{split}_pairs={pairs}" for split in splits)


def _split(config: FilesCorpus, train: ParallelText, kept: list[Path], folder: Path) -> None:
    """Split the training text; no source of one split is in another split or in ``kept``."""
    complete, digests = bytearray(), array("Q")
    for source, target in read_pairs(train.source, train.target):
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
    pairs = read_pairs(train.source, train.target)
    write_splits(folder, (config.source, config.target), ways, pairs)
