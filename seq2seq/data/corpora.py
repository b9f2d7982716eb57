"""From a corpus config to checked text files: download, generate or find them.

Every kind of corpus comes down to a folder with ``train.<language>``, ``valid.<language>`` and one
or more ``test*.<language>``, line i of one language translating line i of the other.
"""

import dataclasses
import hashlib
import json
import logging
from collections.abc import Sequence
from pathlib import Path

from seq2seq.config import (
    CorpusConfig,
    EuroparlCorpus,
    FilesCorpus,
    GrammarCorpus,
    Multi30kCorpus,
)
from seq2seq.data import europarl, grammar, multi30k
from seq2seq.data.parallel_text import SIDES, Corpus, ParallelText, find_file, find_pair
from seq2seq.data.text import COMPRESSIONS, count_lines
from seq2seq.errors import UserError
from seq2seq.files import new_folder

logger = logging.getLogger(__name__)


def load_corpus(config: CorpusConfig, data: Path) -> Corpus:
    """Find, download or generate the text files of a corpus below ``data``, and check them.

    A second call finds the files of the first. ``train_pairs`` and ``train_max_words`` are left to
    the encoded dataset.

    Raises:
        UserError: a file is missing, empty, not UTF-8, or out of step with its translation; the
            download failed; or an option does not go with this kind of corpus.
    """
    texts = _find_texts(config, data, ("train", "valid"))
    return Corpus(
        config.kind,
        config.source,
        config.target,
        texts.pop("train"),
        texts.pop("valid"),
        texts,
    )


def load_test_sets(config: CorpusConfig, data: Path) -> dict[str, ParallelText]:
    """Find the test sets of a corpus, as :func:`load_corpus` would, without its training text.

    A folder of the user's need hold no other text, and no other is read.
    """
    texts = _find_texts(config, data, ())
    return {name: text for name, text in texts.items() if name not in ("train", "valid")}


def _find_texts(
    config: CorpusConfig, data: Path, splits: tuple[str, ...]
) -> dict[str, ParallelText]:
    """Find and check the texts of ``splits`` and every test set."""
    _require_fitting_options(config)
    corpora = data / "corpora"
    try:
        if isinstance(config, FilesCorpus) and config.directory is None:
            texts = _six_paths(config)
        elif isinstance(config, GrammarCorpus):
            texts = _named_texts(config, _grammar_folder(config, corpora), splits)
        elif isinstance(config, Multi30kCorpus):
            folder = _existing(config)
            if folder is None:
                folder = multi30k.download(config, corpora / "multi30k")
            texts = _named_texts(config, folder, (*splits, *multi30k.TESTS))
            multi30k.verify(config, texts)
        elif isinstance(config, EuroparlCorpus):
            folder = _existing(config)
            if folder is None or not _is_split(config, folder):
                folder = europarl.split_text(config, folder, corpora / "europarl")
            texts = _named_texts(config, folder, splits)
        else:
            folder = _existing(config)
            assert folder is not None
            texts = _named_texts(config, folder, splits)
        for name, text in texts.items():
            _check(name, text)
    except OSError as error:
        raise UserError(
            f"{error.filename or data}: {error.strerror or error}; check the path, its "
            "permissions and the free space, or set data to another folder."
        ) from error
    return texts


def warn_of_one_file(config: CorpusConfig) -> None:
    """Log which of the six paths are one file: a choice, or a mistake of typing."""
    if not isinstance(config, FilesCorpus) or config.directory is not None:
        return
    used: dict[Path, str] = {}
    for name in (f"{split}_{side}" for split in ("train", "valid", "test") for side in SIDES):
        path = Path(getattr(config, name)).expanduser()
        if (other := used.setdefault(path.resolve(), name)) != name:
            logger.warning("corpus.%s and corpus.%s are one file, %s.", other, name, path)


def _require_fitting_options(config: CorpusConfig) -> None:
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
            "corpus=files for your own text."
        )


def _existing(config: CorpusConfig) -> Path | None:
    if config.directory is None:
        return None
    folder = Path(config.directory).expanduser()
    if not folder.is_dir():
        raise UserError(f"corpus.directory={config.directory} is not a folder; check the path.")
    return folder


def _is_split(config: EuroparlCorpus, folder: Path) -> bool:
    """Whether the folder holds split text already, which is taken as it is."""
    names = [f"{split}.{config.source}" for split in ("train", "test")]
    return find_file(folder, names) is not None


def _six_paths(config: FilesCorpus) -> dict[str, ParallelText]:
    texts = {}
    for split in ("train", "valid", "test"):
        paths = []
        for side in SIDES:
            path = getattr(config, f"{split}_{side}")
            if path is None:
                raise UserError(
                    f"corpus.{split}_{side} is not set; corpus=files needs six paths, or "
                    "corpus.directory instead of them."
                )
            paths.append(Path(path).expanduser())
            if not paths[-1].is_file():
                raise UserError(f"corpus.{split}_{side}={path} is not a file; check the path.")
        texts[split] = ParallelText(*paths)
    return texts


def _grammar_folder(config: GrammarCorpus, corpora: Path) -> Path:
    """The folder of the generated text, named by all that the text depends on."""
    settings = dataclasses.asdict(config)
    for key in ("directory", "mirror", "train_pairs", "train_max_words"):
        del settings[key]
    digest = hashlib.sha256(json.dumps(settings, sort_keys=True).encode())
    for path in sorted(Path(grammar.__file__).parent.glob("*.*")):
        digest.update(path.read_bytes())
    folder = corpora / f"grammar-{digest.hexdigest()[:12]}"
    with new_folder(folder) as part:
        if part is not None:
            grammar.write_corpus(config, part)
    return folder


def _named_texts(
    config: CorpusConfig, folder: Path, names: Sequence[str]
) -> dict[str, ParallelText]:
    """Find texts in a folder by their names.

    Looks for ``names`` and, where none of them is a test set, for every ``test*``: each ends in the
    two language codes or else in ``source`` and ``target``, plain or with .gz or .xz; ``val`` is
    another name for ``valid``. Gold alignments end in ``align``.

    Raises:
        UserError: files are missing; the sentence names all of them.
    """
    endings = ((config.source, config.target), SIDES)
    if not any(name.startswith("test") for name in names):
        names = [*names, *(_test_names(folder, {e for pair in endings for e in pair}) or ["test"])]
    texts: dict[str, ParallelText] = {}
    missing: list[str] = []
    for name in names:
        stems = ("valid", "val") if name == "valid" else (name,)
        pair = find_pair(
            folder, [(f"{stem}.{s}", f"{stem}.{t}") for s, t in endings for stem in stems]
        )
        source, target = pair.values()
        if source is None or target is None:
            missing += [file for file, path in pair.items() if path is None]
            continue
        stem = next(iter(pair)).rpartition(".")[0]
        texts[name] = ParallelText(source, target, find_file(folder, [f"{stem}.align"]))
    if missing:
        raise UserError(
            f"{folder} lacks {', '.join(missing)} (or the same with .gz or .xz), which "
            f"corpus={config.kind} needs for {config.source} to {config.target}."
        )
    return texts


def _test_names(folder: Path, endings: set[str]) -> list[str]:
    """Names before the last dot of all files test*.<language>, whichever side they are of."""
    names = set()
    for path in folder.glob("test*"):
        plain = path.stem if path.suffix in COMPRESSIONS else path.name
        stem, _, ending = plain.rpartition(".")
        if ending in endings:
            names.add(stem)
    return sorted(names)


def _check(name: str, text: ParallelText) -> None:
    """Read a text once: UTF-8, not empty, as many lines as its translation."""
    paths = [path for path in (text.source, text.target, text.alignments) if path is not None]
    counts = [count_lines(path) for path in paths]
    for path, count in zip(paths, counts, strict=True):
        if not count:
            raise UserError(f"{path} is empty; the {name} text needs at least one line.")
        if count != counts[0]:
            raise UserError(
                f"The line counts of the {name} text differ: {paths[0]} has {counts[0]:,}, {path} "
                f"has {count:,}; line i of one must belong to line i of the other."
            )
