"""The texts that a checkpoint is evaluated on."""

import warnings
from collections.abc import Collection, Mapping
from dataclasses import replace
from pathlib import Path

from sacrebleu.utils import DATASETS, SACREBLEU_DIR, get_reference_files, get_source_file

from seq2seq.config import CorpusConfig, EvaluateConfig, FilesCorpus, Multi30kCorpus, nearest
from seq2seq.data.corpora import load_test_sets
from seq2seq.data.text import ParallelText, content_digest, find_texts
from seq2seq.errors import UserError
from seq2seq.files import named_file
from seq2seq.record import TrainingRecord


def find_test_sets(
    config: EvaluateConfig, corpus: CorpusConfig, training: TrainingRecord | None = None
) -> dict[str, ParallelText]:
    """Return the test sets of ``config``, name -> text; ``corpus`` is the corpus of the training.

    UserError if a test set or a file is missing, or if the test sets were split off another
    training text than that of ``training``.
    """
    if config.source is not None:
        text = given_text(config)
        return {text.source.name: text}
    texts = find_test_texts(config.test_texts, corpus)
    if config.test_sets == []:
        return texts
    tests: dict[str, ParallelText] = {}
    if not set(config.test_sets or [""]) <= set(DATASETS):
        if config.directory is not None:
            corpus = _moved(corpus, config.directory)
        tests = load_test_sets(corpus, Path(config.data))
        if training:
            _require_unseen(tests, corpus, training)
    chosen = {
        name.replace("/", "_"): tests[name] if name in tests else _fetch(name, corpus, tests)
        for name in config.test_sets or tests
    }
    return {**chosen, **texts}


def given_text(config: EvaluateConfig) -> ParallelText:
    """Text whose files are named by the settings ``source`` and ``reference``."""
    first, *more = (named_file("reference", path) for path in config.reference)
    return ParallelText(named_file("source", str(config.source)), first, tuple(more))


def _moved(corpus: CorpusConfig, directory: str) -> CorpusConfig:
    """Return the corpus with its files in ``directory``.

    If ``directory`` has test files, the kind becomes ``files``, except for Multi30k.
    """
    source, target = corpus.source, corpus.target
    names = find_texts(Path(directory), (source, target))
    tests = any(name.startswith("test") for name in names)
    if tests and not isinstance(corpus, Multi30kCorpus):  # its test sets are fixed
        return FilesCorpus(source=source, target=target, directory=directory)
    return replace(corpus, directory=directory)


def _require_unseen(
    tests: Mapping[str, ParallelText], corpus: CorpusConfig, training: TrainingRecord
) -> None:
    """Refuse test sets that were split off another training text than that of ``training``.

    The model may have been trained on sentences of such test sets. Test files of the user's own do
    not depend on the training text.
    """
    if isinstance(corpus, FilesCorpus) and not corpus.test_pairs:
        return
    folder = next(iter(tests.values())).source.parent
    train = find_texts(folder, (corpus.source, corpus.target)).get("train")
    if train is None or folder == Path(corpus.directory or ""):
        return
    digest = content_digest(train.source)
    if training.data_sha256.get("train.source", digest) != digest:
        raise UserError(
            f"The training text has changed since the training: {folder} has the test sets of "
            "another text, and their sentences may have been trained on; restore the text, or set "
            "directory=FOLDER to the folder with the test sets of the earlier text."
        )


def _fetch(name: str, corpus: CorpusConfig, tests: Collection[str]) -> ParallelText:
    """Find or download a test set of sacreBLEU; the error message names ``tests`` as valid."""
    pair = f"{corpus.source}-{corpus.target}"
    known = [public for public, test_set in DATASETS.items() if pair in test_set.langpairs]
    if name not in known:
        near = ", ".join(filter(None, [*tests, nearest(name, known)]))
        raise UserError(
            f"test_sets={name} is not a test set of corpus {corpus.kind}, nor of sacreBLEU for "
            f"{pair}; "
            + (f"valid, nearest first: {near}." if near else "remove test_sets, or name others.")
        )
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # warnings of tarfile in some Pythons
            source, references = get_source_file(name, pair), get_reference_files(name, pair)
    except (Exception, SystemExit) as error:
        reason = "wrong checksum or certificate" if isinstance(error, SystemExit) else error
        raise UserError(
            f"test_sets={name} could not be fetched by sacreBLEU ({reason}); check the network, or "
            f"delete {Path(SACREBLEU_DIR, name)} if its files are damaged."
        ) from None
    first, *more = map(Path, references)
    return ParallelText(Path(source), first, tuple(more))


def find_test_texts(paths: Mapping[str, str], corpus: CorpusConfig) -> dict[str, ParallelText]:
    """Find the two files of each text, in the languages of ``corpus``; plain, .gz or .xz.

    ``paths`` is name -> path without the language: ``texts/news`` for texts/news.en and
    texts/news.fr. UserError if a file is missing, or if a name is empty, has a slash or begins
    with test.
    """
    texts = {}
    for name, path in paths.items():
        if not name or name != Path(name).name or name.startswith("test"):
            raise UserError(
                f"test_texts.{name} is not allowed as a name; use a word without slashes that does "
                "not begin with test (the corpus's own test sets have such names)."
            )
        found = find_texts(Path(path).parent, (corpus.source, corpus.target))
        if Path(path).name not in found:
            raise UserError(
                f"test_texts.{name}={path}: {path}.{corpus.source} or {path}.{corpus.target} is "
                "missing; set the path of the two files without their language codes."
            )
        texts[name] = found[Path(path).name]
    return texts
