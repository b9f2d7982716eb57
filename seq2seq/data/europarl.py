"""Europarl v7 (Koehn 2005), English-French: unpacked, cleaned and split."""

import tarfile
import zlib
from collections.abc import Iterator
from pathlib import Path

from seq2seq.config import EuroparlCorpus
from seq2seq.data.corpora import EMPTY, OPEN, TOO_LONG, UNEVEN, recipe_folder, split_text
from seq2seq.data.download import fetch
from seq2seq.data.text import TextFolder, find_texts, read_pairs, word_count
from seq2seq.errors import UserError
from seq2seq.files import file_digest, file_state, write_json

BASE = "https://www.statmt.org/europarl/v7/"
ARCHIVE = "fr-en.tgz"
NAME = "europarl-v7.fr-en"
"""Name of the text in the archive, without the language."""
MAX_RATIO = 3.0
"""Maximum ratio of the longer side of a pair to the shorter side, in words."""


def text_folder(config: EuroparlCorpus, own: Path | None, home: Path) -> TextFolder:
    """Return the folder of the split text; ``own`` may hold that, the raw texts, or the archive."""
    languages = config.source, config.target
    texts = find_texts(own, languages) if own else {}
    if own and any(name.startswith("test") for name in texts):
        return own, None
    raw = texts.get(NAME)
    files = [raw.source, raw.target] if raw else [own / ARCHIVE] if own else []
    sizes = (config.valid_pairs, config.test_pairs)

    def fill(folder: Path) -> None:
        found, origin = files, {}
        if not raw:
            archive = files[0] if files else fetch(config.mirror or BASE, ARCHIVE, home)
            origin, unpacked = {"archive": file_digest(archive)}, unpack(archive, folder)
            found = [unpacked[language] for language in languages]

        def read() -> Iterator[tuple[str, str]]:
            for source, target in read_pairs(*found):
                yield source.strip(), target.strip()

        def label(source: str, target: str) -> int:
            shorter, longer = sorted((word_count(source), word_count(target)))
            if not shorter:
                return EMPTY
            if longer > config.max_words:
                return TOO_LONG
            return UNEVEN if longer > MAX_RATIO * shorter else OPEN

        counts = split_text(folder, languages, read, label, sizes, unique=True)
        write_json(folder / "cleaning.json", {**origin, "pairs": counts})
        for path in found if not raw else ():
            path.unlink()

    states = map(file_state, files)
    return recipe_folder(home, config, (config.max_words, MAX_RATIO, *sizes), *states), fill


def unpack(archive: Path, folder: Path) -> dict[str, Path]:
    """Write the two texts of the archive into ``folder``; return language -> file."""
    try:
        with tarfile.open(archive, "r:gz") as tar:
            for language in ("en", "fr"):
                tar.extract(f"{NAME}.{language}", folder, filter="data")
    except (KeyError, EOFError, zlib.error, tarfile.TarError) as error:
        raise UserError(f"{archive} is damaged ({error}); delete it and run this again.") from None
    return {language: folder / f"{NAME}.{language}" for language in ("en", "fr")}
