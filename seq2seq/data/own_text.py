"""The user's own text; validation and test text are split off it if asked to."""

import shutil
from functools import partial
from pathlib import Path

from seq2seq.config import FilesCorpus
from seq2seq.data.splits import OPEN, TRAIN, recipe_folder, split_text
from seq2seq.data.text import ParallelText, TextFolder, find_texts, read_pairs
from seq2seq.errors import UserError
from seq2seq.files import file_state


def text_folder(config: FilesCorpus, own: Path | None, home: Path) -> TextFolder:
    """Return ``own``, or the folder below ``home`` of the splits and the function to write them."""
    if own is None:
        raise UserError("corpus=files needs your text; set corpus.directory=FOLDER.")
    sizes = {"valid": config.valid_pairs or 0, "test": config.test_pairs or 0}
    if not any(sizes.values()):
        return own, None
    languages = config.source, config.target
    texts = find_texts(own, languages)
    if "train" not in texts:
        raise UserError(f"{own} lacks train.{config.source} and train.{config.target}; add them.")
    kept = [text for name, text in texts.items() if name == "valid" or name.startswith("test")]
    for split, size in sizes.items():
        if bool(size) == any(name.startswith(split) for name in texts):
            has, remedy = ("has", "remove") if size else ("has no", "set")
            raise UserError(f"{own} {has} {split} files; {remedy} corpus.{split}_pairs.")
    files = [path for text in (texts["train"], *kept) for path in (text.source, text.target)]
    fill = partial(_split, languages, texts["train"], kept, (sizes["valid"], sizes["test"]))
    return recipe_folder(home, config, sizes, *map(file_state, files)), fill


def _split(
    languages: tuple[str, str],
    train: ParallelText,
    kept: list[ParallelText],
    sizes: tuple[int, int],
    folder: Path,
) -> None:
    for text in kept:
        for path in (text.source, text.target):
            shutil.copy(path, folder)
    split_text(
        folder,
        languages,
        partial(read_pairs, train.source, train.target),
        lambda source, target: OPEN if source.strip() and target.strip() else TRAIN,
        sizes,
        kept=[text.source for text in kept],
    )
