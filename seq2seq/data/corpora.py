"""Download, generate, split off or find the text files of a corpus, and check them."""

import shutil
from functools import partial
from importlib import import_module
from pathlib import Path

from seq2seq.config import CorpusConfig, FilesCorpus, Multi30kCorpus
from seq2seq.data.splits import OPEN, TRAIN, recipe_folder, split_text
from seq2seq.data.text import Corpus, ParallelText, TextFolder, find_texts, read_pairs
from seq2seq.errors import UserError
from seq2seq.files import file_state, make_folder


def load_corpus(config: CorpusConfig, data: Path) -> Corpus:
    """Return the text files of a corpus, checked; what is missing is made below ``data``."""
    texts = _find(config, data, "train", "valid")
    train, valid = texts.pop("train"), texts.pop("valid")
    return Corpus(config.kind, config.source, config.target, train, valid, texts)


def load_test_sets(config: CorpusConfig, data: Path) -> dict[str, ParallelText]:
    """Find and check the test sets of an existing corpus; nothing is written or downloaded."""
    return _find(config, data)


def _find(config: CorpusConfig, data: Path, *splits: str) -> dict[str, ParallelText]:
    """Return the text of ``splits`` and of all test sets; with ``splits``, make what is missing."""
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
