"""The texts that a checkpoint is evaluated on."""

import warnings
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from sacrebleu.utils import DATASETS, SACREBLEU_DIR, get_reference_files, get_source_file

from seq2seq.config import CorpusConfig, EvaluateConfig, FilesCorpus, Multi30kCorpus, require_choice
from seq2seq.data.corpora import load_test_sets
from seq2seq.data.text import ParallelText, find_texts
from seq2seq.errors import UserError
from seq2seq.files import named_file


def find_test_sets(config: EvaluateConfig, corpus: CorpusConfig) -> dict[str, ParallelText]:
    """Return the test sets of ``config`` by name; ``corpus`` is that of the training."""
    if config.source is not None:
        text = given_text(config)
        return {text.source.name: text}
    tests, chosen = dict[str, ParallelText](), dict[str, ParallelText]()
    pair, wanted = f"{corpus.source}-{corpus.target}", config.test_sets
    public = [name for name, one in DATASETS.items() if pair in one.langpairs]
    if wanted is None or not {*wanted} <= {*public}:
        moved = corpus if config.directory is None else _moved(corpus, config.directory)
        tests = load_test_sets(moved, Path(config.data))
    for name in tests if wanted is None else wanted:
        text = tests[name] if name in tests else _fetch(name, pair, [*tests, *public])
        chosen[name.replace("/", "_")] = text
    return {**chosen, **find_test_texts(config.test_texts, corpus)}


def given_text(config: EvaluateConfig) -> ParallelText:
    """Text whose files are named by the settings ``source`` and ``reference``."""
    first, *more = (named_file("reference", path) for path in config.reference or [])
    source = named_file("source", str(config.source))
    return ParallelText(source, first, more_targets=tuple(more))


def _moved(corpus: CorpusConfig, directory: str) -> CorpusConfig:
    """Return the corpus with its files, or with test files of the user's own, in ``directory``."""
    source, target = corpus.source, corpus.target
    names = find_texts(Path(directory), (source, target))
    tests = any(name.startswith("test") for name in names)
    if tests and not isinstance(corpus, Multi30kCorpus):  # its test sets are fixed
        return FilesCorpus(source=source, target=target, directory=directory)
    return replace(corpus, directory=directory)


def _fetch(name: str, pair: str, known: list[str]) -> ParallelText:
    """Find or download a test set of sacreBLEU."""
    require_choice("test_sets", name, known)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # warnings of tarfile in some Pythons
            source, references = get_source_file(name, pair), get_reference_files(name, pair)
    except (Exception, SystemExit) as error:
        raise UserError(
            f"test_sets={name} could not be fetched by sacreBLEU ({error}); check the network, or "
            f"delete {Path(SACREBLEU_DIR, name)} if its files are damaged."
        ) from None
    first, *more = map(Path, references)
    return ParallelText(Path(source), first, more_targets=tuple(more))


def find_test_texts(paths: Mapping[str, str], corpus: CorpusConfig) -> dict[str, ParallelText]:
    """Find the two files of each text in ``paths``: name -> path without the languages."""
    texts = {}
    for name, path in paths.items():
        if not name or name != Path(name).name or name.startswith("test"):
            raise UserError(
                f"test_texts.{name} is not allowed as a name; use a word without slashes that does "
                "not begin with test, as names of the corpus's own test sets do."
            )
        found = find_texts(Path(path).parent, (corpus.source, corpus.target))
        if Path(path).name not in found:
            raise UserError(
                f"test_texts.{name}={path}: {path}.{corpus.source} or {path}.{corpus.target} is "
                "missing; set the path of the two files without their language codes."
            )
        texts[name] = found[Path(path).name]
    return texts
