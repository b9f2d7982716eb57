"""From a corpus config to checked text files: download, generate or find them.

Every kind of corpus comes down to a folder with ``train.<language>``, ``valid.<language>`` and one
or more ``test*.<language>``, line i of one language translating line i of the other. What
:func:`obtain` returns has been read once from end to end; nothing behind it needs to check again.
"""

import dataclasses
import hashlib
import json
import logging
from pathlib import Path

from seq2seq.config import (
    CorpusConfig,
    EuroparlCorpus,
    FilesCorpus,
    GrammarCorpus,
    Multi30kCorpus,
)
from seq2seq.data import europarl, grammar, multi30k
from seq2seq.data.folders import exclusive, find_file, find_pair, new_folder, plain_name
from seq2seq.data.parallel_text import SIDES, Corpus, ParallelText
from seq2seq.data.text import count_lines
from seq2seq.errors import UserError

log = logging.getLogger(__name__)

ALIASES = {"valid": ("valid", "val")}
"""Multi30k calls the validation split ``val``; any folder may use either name."""


def obtain(config: CorpusConfig, data: Path) -> Corpus:
    """Find, fetch or generate the text files of a corpus below ``data``, and check them.

    Runs again without work once the files are there. Processes started together wait for the one
    that came first. ``train_pairs`` and ``train_max_words`` are left to the encoded dataset.

    Raises:
        UserError: a file is missing, empty, not UTF-8, or out of step with its translation; the
            download failed; or an option does not go with this kind of corpus.
    """
    _refuse_idle_options(config)
    try:
        if isinstance(config, GrammarCorpus):
            corpus = _obtain_grammar(config, data / "corpora")
        elif isinstance(config, Multi30kCorpus):
            corpus = obtain_multi30k(config, data / "corpora", multi30k.MULTI30K)
        elif isinstance(config, EuroparlCorpus):
            corpus = obtain_europarl(config, data / "corpora", europarl.EUROPARL)
        elif isinstance(config, FilesCorpus):
            corpus = _obtain_files(config)
        else:
            raise UserError(f"corpus.kind={config.kind} is not a kind of corpus.")
        check(corpus)
    except OSError as error:
        raise UserError(
            f"{error.filename or data}: {error.strerror or error}; check the path, its "
            "permissions and the free space, or set data to another folder."
        ) from error
    return corpus


def obtain_multi30k(
    config: Multi30kCorpus, corpora: Path, source: multi30k.Multi30kSource
) -> Corpus:
    """Multi30k from ``corpus.directory``, or downloaded from ``source`` below ``corpora``."""
    languages = [config.source, config.target]
    if config.directory is not None:
        folder = _existing(config.directory)
        mend = "take that file from the repository multi30k/dataset"
    else:
        folder = corpora / "multi30k"
        mend = "delete it to have it downloaded again"
        if not multi30k.is_complete(source, languages, folder):
            with exclusive(corpora / "multi30k.lock"):
                multi30k.download(source, config.mirror, languages, folder)
    corpus = read_folder(config, folder, tests=list(source.tests))
    texts = {"train": corpus.train, "val": corpus.valid, **corpus.tests}
    files = {
        f"{split}.{language}": path
        for split, text in texts.items()
        for language, path in zip(languages, (text.source, text.target), strict=True)
    }
    # Before anything else is checked: an altered file is best called that.
    multi30k.verify(source, files, mend)
    return corpus


def obtain_europarl(
    config: EuroparlCorpus, corpora: Path, source: europarl.EuroparlSource
) -> Corpus:
    """Europarl from split or raw files in ``corpus.directory``, or from the archive ``source``."""
    raw: list[Path] = []
    if config.directory is not None:
        folder = _existing(config.directory)
        texts = [find_file(folder, [name]) for name in europarl.MEMBERS.values()]
        if find_file(folder, [f"train.{config.source}", f"train.{config.target}"]):
            return read_folder(config, folder)
        if all(texts):
            raw = [path for path in texts if path is not None]
        elif (folder / europarl.ARCHIVE).is_file():
            raw = [folder / europarl.ARCHIVE]
        else:
            raise UserError(
                f"corpus.directory={folder} holds no Europarl: looked for train, valid and test "
                f"text (train.{config.source}, train.{config.target}, ...), for "
                f"{' and '.join(europarl.MEMBERS.values())}, and for {europarl.ARCHIVE}."
            )
    home = corpora / "europarl"
    result = home / europarl.folder_name(config, raw)
    if not result.is_dir():
        with exclusive(corpora / "europarl.lock"):
            if not result.is_dir():  # or another process has just made it
                _make_europarl(config, source, raw, home, result)
    if not raw:
        europarl.require_archive(result, home)
    return read_folder(config, result)


def warn_of_one_file(config: CorpusConfig) -> None:
    """Say which of the six paths are one file: a choice, or a mistake of typing.

    Of whoever trains, once.
    """
    if not isinstance(config, FilesCorpus) or config.directory is not None:
        return
    used: dict[Path, str] = {}
    for name in (f"{split}_{side}" for split in ("train", "valid", "test") for side in SIDES):
        path = Path(getattr(config, name)).expanduser()
        if (other := used.setdefault(path.resolve(), name)) != name:
            log.warning("corpus.%s and corpus.%s are one file, %s.", other, name, path)


def refuse_idle_rules(config: CorpusConfig) -> None:
    """Refuse rules of cleaning and splitting for text that is split already.

    Of whoever trains: a model may be tested on such text that was trained on text cut by rules.
    """
    if not isinstance(config, EuroparlCorpus) or config.directory is None:
        return
    folder = Path(config.directory).expanduser()
    if not find_file(folder, [f"train.{config.source}", f"train.{config.target}"]):
        return
    for name in ("max_words", "max_ratio", "valid_pairs", "test_pairs"):
        value = getattr(config, name)
        if value != getattr(EuroparlCorpus, name):
            raise UserError(
                f"corpus.{name}={value} would have no effect: {config.directory} holds text that "
                "is split already; leave it out, or give the folder of the raw files."
            )


def _make_europarl(
    config: EuroparlCorpus,
    source: europarl.EuroparlSource,
    raw: list[Path],
    home: Path,
    result: Path,
) -> None:
    with new_folder(result) as folder:
        if len(raw) == len(europarl.MEMBERS):
            texts = dict(zip(europarl.MEMBERS, raw, strict=True))
            europarl.clean_and_split(config, texts, folder)
            return
        archive = raw[0] if raw else europarl.download(source, config.mirror, home)
        try:
            texts = europarl.unpack(source, archive, folder)
        except UserError:
            if not raw:  # it was downloaded, so it can be again; a user's own file stays
                archive.unlink()
                (home / f"{archive.name}.sha256").unlink()
            raise
        europarl.clean_and_split(config, texts, folder, europarl.archive_digest(archive))
        for path in texts.values():
            path.unlink()


def _obtain_grammar(config: GrammarCorpus, corpora: Path) -> Corpus:
    folder = corpora / f"grammar-{_grammar_hash(config)}"
    if not folder.is_dir():
        with exclusive(corpora / "grammar.lock"):
            if not folder.is_dir():
                with new_folder(folder) as part:
                    grammar.write_corpus(config, part)
    return read_folder(config, folder)


def _grammar_hash(config: GrammarCorpus) -> str:
    """Hash of all the written text depends on: the settings, and the code that writes it."""
    settings = dataclasses.asdict(config)
    for key in ("directory", "mirror", "train_pairs", "train_max_words"):
        del settings[key]
    digest = hashlib.sha256(json.dumps(settings, sort_keys=True).encode())
    for path in sorted(Path(grammar.__file__).parent.glob("*.[pt]*")):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:12]


def _obtain_files(config: FilesCorpus) -> Corpus:
    names = [f"{split}_{side}" for split in ("train", "valid", "test") for side in SIDES]
    paths = {name: getattr(config, name) for name in names}
    given = [name for name in names if paths[name] is not None]
    if config.directory is not None:
        if given:
            raise UserError(
                f"corpus.directory and corpus.{given[0]} are both set; corpus=files takes a "
                "folder or six paths, so remove one."
            )
        return read_folder(config, _existing(config.directory))
    if len(given) < len(names):
        missing = ", ".join(f"corpus.{name}" for name in names if paths[name] is None)
        raise UserError(
            f"corpus=files needs six paths, or corpus.directory instead of them; not set: "
            f"{missing}."
        )
    found = {}
    for name, path in paths.items():
        found[name] = Path(path).expanduser()
        if not found[name].is_file():
            raise UserError(f"corpus.{name}={path} is not a file; check the path.")
    train, valid, test = (
        ParallelText(found[f"{split}_source"], found[f"{split}_target"])
        for split in ("train", "valid", "test")
    )
    return Corpus(config.kind, config.source, config.target, train, valid, {"test": test})


def read_folder(config: CorpusConfig, folder: Path, tests: list[str] | None = None) -> Corpus:
    """Find the files of a corpus in a folder by their names.

    Looks for ``train``, ``valid`` (or ``val``) and ``test*``, each ending in the two language
    codes or else in ``source`` and ``target``, plain or with .gz or .xz; and for the same ending in
    ``align``.

    Args:
        config: names the kind of corpus and the languages.
        folder: an existing folder.
        tests: names of the test sets; None for every pair of files whose names start with test.

    Raises:
        UserError: files are missing; the sentence names all of them. Or one is there twice.
    """
    if tests is None:
        tests = _test_names(config, folder) or ["test"]
    texts: dict[str, ParallelText] = {}
    missing: list[str] = []
    for split in ("train", "valid", *tests):
        stems = ALIASES.get(split, (split,))
        names = [(f"{stem}.{s}", f"{stem}.{t}") for s, t in _endings(config) for stem in stems]
        pair = find_pair(folder, names)
        missing += [name for name, path in pair.items() if path is None]
        paths = [path for path in pair.values() if path is not None]
        if len(paths) == len(SIDES):
            stem = next(stem for stem in stems if paths[0].name.startswith(f"{stem}."))
            source, target = paths
            links = find_file(folder, [f"{stem}.align", f"{split}.align"])
            texts[split] = ParallelText(source, target, links)
    if missing:
        raise UserError(
            f"{folder} lacks {', '.join(missing)} (or the same with .gz or .xz), which "
            f"corpus={config.kind} needs for {config.source} to {config.target}."
        )
    return Corpus(
        config.kind,
        config.source,
        config.target,
        texts.pop("train"),
        texts.pop("valid"),
        texts,
    )


def _endings(config: CorpusConfig) -> tuple[tuple[str, str], tuple[str, str]]:
    return (config.source, config.target), SIDES


def _test_names(config: CorpusConfig, folder: Path) -> list[str]:
    """Names before the last dot of all files test*.<language>, whichever side they are of."""
    endings = {ending for pair in _endings(config) for ending in pair}
    names = set()
    for path in folder.glob("test*"):
        stem, _, ending = plain_name(path).rpartition(".")
        if ending in endings and path.is_file():
            names.add(stem)
    return sorted(names)


def check(corpus: Corpus) -> None:
    """Read every file of the corpus once: UTF-8, not empty, as many lines as its translation."""
    for name, text in {"train": corpus.train, "valid": corpus.valid, **corpus.tests}.items():
        lines = {path: count_lines(path) for path in (text.source, text.target)}
        for path, count in lines.items():
            if not count:
                raise UserError(
                    f"{path} is empty; the {name} text needs at least one line in each language."
                )
        if text.alignments is not None:
            lines[text.alignments] = count_lines(text.alignments)
        for path, count in lines.items():
            if count != lines[text.source]:
                raise UserError(
                    f"The line counts of the {name} text differ: {text.source} has "
                    f"{lines[text.source]:,}, {path} has {count:,}; line i of one must belong to "
                    "line i of the other, so get both from one place."
                )


def _existing(directory: str) -> Path:
    folder = Path(directory).expanduser()
    if not folder.is_dir():
        raise UserError(f"corpus.directory={directory} is not a folder; check the path.")
    return folder


def _refuse_idle_options(config: CorpusConfig) -> None:
    """Refuse a directory or mirror that would have no effect: the user expects it to have one."""
    if config.directory is not None and config.mirror is not None:
        raise UserError(
            "corpus.directory and corpus.mirror are both set; with a directory nothing is "
            "downloaded, so remove one."
        )
    if config.mirror is not None and not isinstance(config, Multi30kCorpus | EuroparlCorpus):
        raise UserError(
            f"corpus.mirror is set but corpus={config.kind} downloads nothing; remove it."
        )
    if config.directory is not None and isinstance(config, GrammarCorpus):
        raise UserError(
            "corpus.directory is set but corpus=grammar writes its own text; remove it, or use "
            "corpus=files for text of yours."
        )
