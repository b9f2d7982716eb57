"""From a corpus config to checked text files: download, generate or find them.

Every kind of corpus comes down to a folder with ``train.<language>``, ``valid.<language>`` and one
or more ``test*.<language>``, line i of one language translating line i of the other.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from seq2seq.config import CorpusConfig, FilesCorpus, Multi30kCorpus
from seq2seq.data import europarl, grammar, mtdata, multi30k, own_text
from seq2seq.data.text import (
    Corpus,
    ParallelText,
    TextFolder,
    count_lines,
    find_test_names,
    find_text,
)
from seq2seq.errors import UserError

TEXT_FOLDERS: dict[str, Callable[[Any, Path | None, Path], TextFolder]] = {
    "grammar": grammar.text_folder,
    "multi30k": multi30k.text_folder,
    "europarl": europarl.text_folder,
    "mtdata": mtdata.text_folder,
    "files": own_text.text_folder,
}
"""Kind of corpus -> its folder, by its settings, the folder of the user's and that for downloads.
"""


def load_corpus(config: CorpusConfig, data: Path) -> Corpus:
    """Find, fetch or generate the text files of a corpus below ``data``, and check them.

    ``train_pairs`` and ``train_max_words`` are left to the encoded dataset.

    Raises:
        UserError: a file is missing, empty, not UTF-8, or out of step with its translation; the
            download failed; or an option does not go with this kind of corpus.
    """
    texts = _find_texts(config, data, "train", "valid")
    train, valid = texts.pop("train"), texts.pop("valid")
    return Corpus(config.kind, config.source, config.target, train, valid, texts)


def load_test_sets(config: CorpusConfig, data: Path) -> dict[str, ParallelText]:
    """Find the test sets of a corpus that is there, by name, and check them.

    Nothing is written or downloaded: ``config`` may be a stranger's. Training text is neither read
    nor needed. Errors as :func:`load_corpus`.
    """
    return _find_texts(config, data)


def _find_texts(config: CorpusConfig, data: Path, *splits: str) -> dict[str, ParallelText]:
    """The texts of ``splits`` and every test set, checked; made first if ``splits`` are wanted."""
    try:
        folder = _folder(config, data / "corpora", make=bool(splits))
        if isinstance(config, Multi30kCorpus):
            texts = _named_texts(config, folder, (*splits, *multi30k.TESTS))
            multi30k.verify(config, texts)
        else:
            tests = find_test_names(folder, (config.source, config.target)) or ["test"]
            texts = _named_texts(config, folder, (*splits, *tests))
        for name, text in texts.items():
            _check(name, text)
    except OSError as error:
        raise UserError(
            f"{error.filename or data}: {error.strerror or error}; check the path, its "
            "permissions and the free space, or set data to another folder."
        ) from error
    return texts


def _folder(config: CorpusConfig, corpora: Path, make: bool) -> Path:
    """The folder with the texts of a corpus, which the module of its kind makes if need be."""
    own = None if config.directory is None else Path(config.directory)
    if own and not (own.is_dir() or (own.is_file() and isinstance(config, FilesCorpus))):
        remedy = "check the path" if make else "give directory=FOLDER where its test sets are now"
        raise UserError(f"corpus.directory={config.directory} is not a folder here; {remedy}.")
    folder, fill = TEXT_FOLDERS[config.kind](config, own, corpora / config.kind)
    if make and fill:
        fill()
    if not folder.is_dir():
        raise UserError(
            f"{folder}, the text of this training, is not here; run prepare with the same settings,"
            " or give directory=FOLDER with its test sets."
        )
    return folder


def _named_texts(
    config: CorpusConfig, folder: Path, names: Sequence[str]
) -> dict[str, ParallelText]:
    """Find texts in a folder by their names; a UserError names all files that are missing."""
    texts: dict[str, ParallelText] = {}
    missing: list[str] = []
    for name in names:
        text, lacking = find_text(folder, name, (config.source, config.target))
        missing += lacking
        if text:
            texts[name] = text
    if missing:
        more = ", or corpus.valid_pairs=500 corpus.test_pairs=500 to take them from training text"
        if "valid" not in names:  # nothing is made
            more = "; run prepare with the same settings, or give directory=FOLDER that has them"
        elif not isinstance(config, FilesCorpus):
            more = ""
        raise UserError(
            f"{folder} lacks {', '.join(missing)} (or the same with .gz or .xz), which "
            f"corpus={config.kind} needs for {config.source} to {config.target}{more}."
        )
    return texts


def _check(name: str, text: ParallelText) -> None:
    """Read a text once: UTF-8, not empty, as many lines as its translation."""
    counts = [count_lines(path) for path in text.files]
    for path, count in zip(text.files, counts, strict=True):
        if not count:
            raise UserError(f"{path} is empty; the {name} text needs at least one line.")
        if count != counts[0]:
            raise UserError(
                f"The line counts of the {name} text differ: {text.source} has {counts[0]:,}, "
                f"{path} has {count:,}; line i of one must belong to line i of the other."
            )
