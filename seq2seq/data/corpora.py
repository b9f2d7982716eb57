"""Download, generate or find the text files of a corpus, and check them.

Every kind of corpus becomes a folder of texts that :func:`find_texts` finds.
"""

from importlib import import_module
from pathlib import Path

from seq2seq.config import CorpusConfig, Multi30kCorpus
from seq2seq.data.text import Corpus, ParallelText, find_texts, read_pairs
from seq2seq.errors import UserError
from seq2seq.files import make_folder


def load_corpus(config: CorpusConfig, data: Path) -> Corpus:
    """Return the text files of a corpus, checked; what is missing is made in the folder ``data``.

    ``train_pairs`` and ``train_max_words`` have no effect here; the encoding applies them.
    """
    texts = _find(config, data, "train", "valid")
    train, valid = texts.pop("train"), texts.pop("valid")
    return Corpus(config.kind, config.source, config.target, train, valid, texts)


def load_test_sets(config: CorpusConfig, data: Path) -> dict[str, ParallelText]:
    """Find and check the test sets of an existing corpus; nothing is written or downloaded."""
    return _find(config, data)


def _find(config: CorpusConfig, data: Path, *splits: str) -> dict[str, ParallelText]:
    """Return the text of ``splits`` and of all test sets; with ``splits``, make what is missing."""
    own = Path(config.directory) if config.directory else None
    if own and not own.is_dir():
        raise UserError(
            f"corpus.directory={own} is not a folder; set {'corpus.' if splits else ''}directory="
            f"FOLDER (cut -f1 and cut -f2 make its two files from a table of pairs)."
        )
    # Each kind has a module, named like the kind except for files.
    kind = import_module(f"seq2seq.data.{'own_text' if config.kind == 'files' else config.kind}")
    folder, fill = kind.text_folder(config, own, data / "corpora" / config.kind)
    if splits and fill:
        make_folder(folder, fill)
    if not folder.is_dir():
        raise UserError(
            f"{folder}, the text of this training, is missing; run prepare with the same settings, "
            "or set directory=FOLDER to the folder of the test sets."
        )
    languages = config.source, config.target
    found = find_texts(folder, languages)
    tests = [name for name in found if name.startswith("test")] or ["test"]
    if isinstance(config, Multi30kCorpus):
        tests = [*kind.TESTS]
    names = [*splits, *tests]
    if lacking := [f"{name}.{end}" for name in names if name not in found for end in languages]:
        remedy = ", or set corpus.valid_pairs or corpus.test_pairs" * (config.kind == "files")
        raise UserError(
            f"{folder} lacks {', '.join(lacking)} (plain, .gz or .xz), which corpus.source="
            f"{config.source} and corpus.target={config.target} need; add them{remedy}."
        )
    texts = {name: found[name] for name in names}
    for text in texts.values():
        if not sum(1 for _ in read_pairs(text.source, text.target)):
            raise UserError(f"{text.source} is empty; it needs at least one line.")
    if isinstance(config, Multi30kCorpus):
        kind.verify(config, texts)
    return texts
