"""Download, generate or find the text files of a corpus, and check them.

Every kind of corpus becomes a folder with ``train.<language>``, ``valid.<language>`` and one or
more ``test*.<language>``, or with the other names that :func:`find_text` takes. Line i of one
language is the translation of line i of the other.
"""

from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

from seq2seq.config import CorpusConfig, FilesCorpus, Multi30kCorpus, in_words
from seq2seq.data.text import Corpus, ParallelText, check_text, find_test_names, find_text
from seq2seq.errors import UserError


def load_corpus(config: CorpusConfig, data: Path) -> Corpus:
    """Return the text files of a corpus, checked; fetch or generate what is missing.

    ``data`` is the folder for fetched and generated text. ``train_pairs`` and ``train_max_words``
    have no effect here; the encoding applies them. UserError if a file is missing, empty, not UTF-8
    or not aligned with its translation, if a file cannot be read, written or downloaded, or if a
    setting is not valid for this kind of corpus or for this text.
    """
    texts = _find_texts(config, data, "train", "valid")
    train, valid = texts.pop("train"), texts.pop("valid")
    return Corpus(config.kind, config.source, config.target, train, valid, texts)


def load_test_sets(config: CorpusConfig, data: Path) -> dict[str, ParallelText]:
    """Find and check the test sets of an existing corpus; return them by name.

    Nothing is written or downloaded, because ``config`` may come from another person. Training
    and validation text is not checked. Errors as in :func:`load_corpus`.
    """
    return _find_texts(config, data)


def _find_texts(config: CorpusConfig, data: Path, *splits: str) -> dict[str, ParallelText]:
    """Return the checked text of ``splits`` and of all test sets, by name.

    With ``splits``, missing text is first downloaded, generated or split off.
    """
    try:
        folder = _folder(config, data / "corpora", make=bool(splits))
        if isinstance(config, Multi30kCorpus):
            from seq2seq.data import multi30k

            texts = _named_texts(config, folder, (*splits, *multi30k.TESTS))
            multi30k.verify(config, texts)
        else:
            tests = find_test_names(folder, (config.source, config.target)) or ["test"]
            texts = _named_texts(config, folder, (*splits, *tests))
        for name, text in texts.items():
            check_text(name, text)
    except OSError as error:
        raise UserError(
            f"{error.filename or data}: {error.strerror or error}; check the path, its "
            "permissions and the free space, or set data to another folder."
        ) from error
    return texts


def _folder(config: CorpusConfig, corpora: Path, make: bool) -> Path:
    """Return the text folder of a corpus; with ``make``, create it first if it is missing."""
    own = None if config.directory is None else Path(config.directory)
    if own and not own.is_dir():
        remedy = "check the path" if make else "set directory=FOLDER to the folder of the test sets"
        raise UserError(f"corpus.directory={config.directory} is not a folder; {remedy}.")
    # Each kind has a module, named like the kind except for files. The module's ``text_folder``
    # returns the folder of the text, and the function to make it.
    module = "own_text" if config.kind == "files" else config.kind
    try:
        kind = import_module(f"seq2seq.data.{module}")
        folder, fill = kind.text_folder(config, own, corpora / config.kind)
    except UserError as error:
        if make:
            raise
        raise UserError(
            f"The test sets of this training are not found: {str(error).removesuffix('.')}, or set "
            "directory=FOLDER to the folder of the test sets."
        ) from error
    if make and fill:
        fill()
    if not folder.is_dir():
        raise UserError(
            f"{folder}, the text of this training, is missing; run prepare with the same settings, "
            "or set directory=FOLDER to the folder of the test sets."
        )
    return folder


def _named_texts(
    config: CorpusConfig, folder: Path, names: Sequence[str]
) -> dict[str, ParallelText]:
    """Find the texts ``names`` in a folder; one UserError lists all missing files."""
    texts: dict[str, ParallelText] = {}
    missing: list[str] = []
    for name in names:
        text, lacking = find_text(folder, name, (config.source, config.target))
        missing += lacking
        if text:
            texts[name] = text
    if missing:
        remedy = "add them"
        if "valid" not in names:  # only test sets: nothing is written
            remedy = "run prepare with the same settings, or set directory=FOLDER to their folder"
        elif "train" in texts and isinstance(config, FilesCorpus):
            from seq2seq.data.own_text import advised_split

            both = [s for s in ("valid", "test") if sum(n.startswith(s[:3]) for n in missing) == 2]
            if both:
                split = advised_split(texts["train"].source, both)
                remedy += f", or set {split} to split the training text"
        elif isinstance(config, FilesCorpus):
            remedy = f"add them, or set corpus.source and corpus.target ({in_words(folder)})"
        raise UserError(
            f"{folder} lacks {', '.join(missing)} (plain, .gz or .xz), which corpus={config.kind} "
            f"needs for {config.source} to {config.target}; {remedy}."
        )
    return texts
