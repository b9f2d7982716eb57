"""Public datasets, by their ids in the package mtdata (Gowda et al. 2021), cleaned and split.

mtdata runs in a separate process, because its list of datasets takes half a gigabyte of memory, and
because mtdata changes the logging of its process.
"""

import bz2
import gzip
import json
import logging
import lzma
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, redirect_stdout
from functools import partial
from importlib.util import find_spec
from itertools import chain
from pathlib import Path
from typing import Any

from seq2seq.config import MtdataCorpus, nearest
from seq2seq.data.splits import MAX_RATIO, clean_and_split, made_text
from seq2seq.data.text import LineWriter, TextFolder
from seq2seq.errors import UserError

log = logging.getLogger(__name__)

BREAKS = str.maketrans("\n\0", "  ")
"""Line break or zero byte in a sentence -> space; a line of a text file cannot hold them."""


def text_folder(config: MtdataCorpus, own: Path | None, home: Path) -> TextFolder:
    """Return the folder of the text, and the function to make it (None if ``own`` is the folder).

    UserError, here or from the function, if dataset ids are missing, repeated or wrong, if a
    dataset cannot be downloaded, or if the training text is too short to split.
    """
    if own is not None:
        return own, None
    origin = {"train": config.train, "valid": config.valid, "test": config.test}
    names = [*chain(*origin.values())]
    if not config.train or len(set(names)) < len(names):
        raise UserError(
            "corpus=mtdata needs corpus.train=[ID], with no id twice in train, valid and test; "
            f"mtdata list -id -l {config.source}-{config.target} prints the ids."
        )
    languages = config.source, config.target
    sizes = (config.max_words, MAX_RATIO, config.valid_pairs, config.test_pairs)

    def fill(folder: Path) -> None:
        texts = {f"test_{name}": [name] for name in config.test} | {"raw": config.train}
        texts |= {"valid": config.valid} if config.valid else {}
        _fetch(languages, texts, folder)
        raw = {language: folder / f"raw.{language}" for language in languages}
        clean_and_split(config, raw, folder, **origin)
        for path in raw.values():
            path.unlink()

    return made_text(home, "", [languages, sizes, origin], fill)


def _fetch(languages: tuple[str, str], texts: dict[str, list[str]], folder: Path) -> None:
    """Call :func:`_write` in a separate process."""
    if find_spec("mtdata") is None:
        raise UserError("corpus=mtdata needs the package mtdata; run pip install mtdata.")
    log.info("Fetching with mtdata: %s", ", ".join(chain(*texts.values())))
    options = ["-X", "utf8", "-W", "ignore", "-m", "seq2seq.data.mtdata"]
    command = [sys.executable, *options, json.dumps([languages, texts, str(folder)])]
    done = subprocess.run(command, stdout=subprocess.PIPE, encoding="utf-8")
    if done.returncode:
        ended = (
            f"mtdata ended with status {done.returncode}, often for lack of memory; free some "
            "memory, and run this again."
        )
        raise UserError(done.stdout.strip() or ended)


def _write(languages: Sequence[str], texts: dict[str, list[str]], folder: str) -> None:
    """Download datasets, and write them to files ``<name>.<language>``, one for each language.

    ``texts``: name -> mtdata ids of the datasets that its files hold, one after the other.
    """
    from mtdata import cache_dir, pbar_man, utils

    # The external programs that mtdata prefers do not report a damaged file.
    unpack: dict[str, Any] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}
    utils.COMPRESSORS.update({end: partial(call, newline="\n") for end, call in unpack.items()})
    pbar_man.enabled = sys.stderr.isatty()
    wanted = "its list of datasets"
    try:
        entries = _entries(languages)
        for name in chain(*texts.values()):
            if name not in entries:
                near = nearest(name, entries) or "none"
                raise UserError(
                    f"{name} is not a dataset of mtdata from corpus.source={languages[0]} to "
                    f"corpus.target={languages[1]}; valid, nearest first: {near}."
                )
        for text, names in texts.items():
            with ExitStack() as stack:
                paths = [Path(folder, f"{text}.{language}") for language in languages]
                files = [stack.enter_context(LineWriter(path)) for path in paths]
                for wanted in names:
                    for row in _rows(entries[wanted], languages[0], cache_dir):
                        for file, side in zip(files, row, strict=True):
                            file.write((side or "").translate(BREAKS).strip())
    except UserError:
        raise
    except (Exception, SystemExit) as error:
        raise UserError(
            f"mtdata could not get {wanted} ({str(error) or type(error).__name__}); check the "
            f"network, and delete damaged files below {cache_dir}."
        ) from None


def _entries(languages: Sequence[str]) -> dict[str, Any]:
    """Id -> mtdata's entry, for all datasets in these two languages, in either direction."""
    from mtdata.index import get_entries
    from mtdata.iso.bcp47 import bcp47

    pair = [bcp47.try_parse(language) for language in languages]
    known = [] if None in pair else get_entries(pair, fuzzy_match=True)
    return {str(entry.did): entry for entry in known}


def _rows(entry: Any, source: str, cache: Path) -> Iterator[list[str | None]]:
    """Yield a dataset's pairs, language ``source`` first; download it if not in ``cache``."""
    from mtdata.cache import Cache
    from mtdata.parser import Parser

    order = 1 if entry.did.langs[0].is_compatible(source) else -1
    for row in Parser(Cache(cache).get_entry(entry), entry.in_ext or None, entry).read_segs(False):
        yield list(row[:2])[::order]


if __name__ == "__main__":
    logging.disable()
    try:
        with redirect_stdout(sys.stderr):
            _write(*json.loads(sys.argv[1]))
    except UserError as problem:
        print(problem)
        sys.exit(1)
    except KeyboardInterrupt:  # the parent process reports it
        sys.exit(130)
