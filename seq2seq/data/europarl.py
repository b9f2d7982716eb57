"""Europarl v7 (Koehn 2005), English-French: unpacked, cleaned and split."""

import gzip
import shutil
import tarfile
import zlib
from collections.abc import Iterator
from pathlib import Path

from seq2seq.config import EuroparlCorpus
from seq2seq.data.download import fetch
from seq2seq.data.splits import EMPTY, OPEN, RULES, TOO_LONG, UNEVEN, recipe_folder, split_text
from seq2seq.data.text import ParallelText, TextFolder, find_texts, read_pairs, word_count
from seq2seq.errors import UserError
from seq2seq.files import BLOCK, file_digest, file_state, write_json

BASE = "https://www.statmt.org/europarl/v7/"
ARCHIVE = "fr-en.tgz"
NAME = "europarl-v7.fr-en"
"""Name of the text in the archive, without the language."""


def text_folder(config: EuroparlCorpus, own: Path | None, home: Path) -> TextFolder:
    """Return the folder of the cleaned and split corpus, and the function to make it.

    ``own`` may hold text that is already split, the raw texts, or their archive.
    """
    texts = find_texts(own, (config.source, config.target)) if own else {}
    if own and any(name.startswith("test") for name in texts):
        return own, None
    raw = texts.get(NAME)
    files = [raw.source, raw.target] if raw else [own / ARCHIVE] if own else []
    sizes = (config.max_words, float(config.max_ratio), config.valid_pairs, config.test_pairs)

    def fill(folder: Path) -> None:
        if raw:
            _clean_and_split(config, raw, folder)
            return
        archive = own / ARCHIVE if own else fetch(config.mirror or BASE, ARCHIVE, home)
        paths = [folder / f"{NAME}.{language}" for language in (config.source, config.target)]
        _unpack(archive, paths)
        _clean_and_split(config, ParallelText(*paths), folder, archive=file_digest(archive))
        for path in paths:
            path.unlink()

    return recipe_folder(home, config, sizes, *map(file_state, files)), fill


def _unpack(archive: Path, paths: list[Path]) -> None:
    """Write members of the archive to the files of the same names."""
    try:
        with gzip.open(archive) as stream:
            with tarfile.open(fileobj=stream) as tar:
                for path in paths:
                    member = tar.extractfile(path.name)
                    assert member  # a regular file
                    with path.open("wb") as text:
                        shutil.copyfileobj(member, text)
            while stream.read(BLOCK):  # the checksum stands at the end of the gzip stream
                pass
    except (KeyError, EOFError, zlib.error, gzip.BadGzipFile, tarfile.TarError) as error:
        raise UserError(f"{archive} is damaged ({error}); delete it, and run this again.") from None


def _clean_and_split(
    config: EuroparlCorpus, raw: ParallelText, folder: Path, **origin: str
) -> None:
    """Write the splits and cleaning.json, which counts the pairs and tells their ``origin``."""

    def read() -> Iterator[tuple[str, str]]:
        for source, target in read_pairs(raw.source, raw.target):
            yield source.strip(), target.strip()

    def label(source: str, target: str) -> int:
        words = word_count(source, config.source), word_count(target, config.target)
        if not min(words):
            return EMPTY
        if max(words) > config.max_words:
            return TOO_LONG
        return UNEVEN if max(words) > config.max_ratio * min(words) else OPEN

    languages, sizes = (config.source, config.target), (config.valid_pairs, config.test_pairs)
    counts = split_text(folder, languages, read, label, sizes, unique=True)
    settings = {key: getattr(config, key) for key in ("source", "target", "max_words", "max_ratio")}
    write_json(folder / "cleaning.json", {"rules": RULES, **origin, **settings, "pairs": counts})
