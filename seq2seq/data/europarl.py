"""Europarl v7 (Koehn 2005), English-French: unpacked, cleaned and split."""

import gzip
import shutil
import tarfile
import zlib
from pathlib import Path

from seq2seq.config import EuroparlCorpus
from seq2seq.data.download import fetch
from seq2seq.data.splits import MAX_RATIO, clean_and_split, made_text
from seq2seq.data.text import TextFolder, find_file, find_test_names
from seq2seq.errors import UserError
from seq2seq.files import BLOCK, file_digest, file_state

BASE = "https://www.statmt.org/europarl/v7/"
ARCHIVE = "fr-en.tgz"
MEMBERS = {"en": "europarl-v7.fr-en.en", "fr": "europarl-v7.fr-en.fr"}


def text_folder(config: EuroparlCorpus, raw: Path | None, home: Path) -> TextFolder:
    """Return the folder of the cleaned and split corpus, and the function to make it.

    If ``raw`` has test files, its text is already split: return ``raw`` and None. ``raw`` may also
    hold the raw texts or their archive; if ``raw`` is None, the function downloads the archive.
    UserError, here or from the function, if the text is missing, damaged or too short.
    """
    if raw is not None and find_test_names(raw, (config.source, config.target)):
        return raw, None
    files = [] if raw is None else _raw_files(raw)
    sizes = (config.max_words, MAX_RATIO, config.valid_pairs, config.test_pairs)
    own = [file_state(path) for path in files]

    def fill(folder: Path) -> None:
        if len(files) == len(MEMBERS):
            clean_and_split(config, dict(zip(MEMBERS, files, strict=True)), folder)
            return
        archive = files[0] if files else fetch(config.mirror or BASE, ARCHIVE, home)
        try:
            texts = unpack(archive, folder)
        except UserError:
            if raw is None:
                archive.unlink()  # so that it is downloaded again; the user's own file stays
            raise
        clean_and_split(config, texts, folder, archive=file_digest(archive))
        for path in texts.values():
            path.unlink()

    return made_text(home, f"{config.source}-{config.target}-", [sizes, *own], fill)


def _raw_files(folder: Path) -> list[Path]:
    texts = [path for name in MEMBERS.values() if (path := find_file(folder, name))]
    if len(texts) == len(MEMBERS):
        return texts
    if (folder / ARCHIVE).is_file():
        return [folder / ARCHIVE]
    raise UserError(
        f"corpus.directory={folder} does not hold Europarl; add train, valid and test text, or "
        f"{' and '.join(MEMBERS.values())}, or {ARCHIVE}."
    )


def unpack(archive: Path, folder: Path) -> dict[str, Path]:
    """Write the two texts of the archive into ``folder``; return language -> file."""
    texts = {language: folder / name for language, name in MEMBERS.items()}
    try:
        with gzip.open(archive) as stream:
            with tarfile.open(fileobj=stream) as tar:
                for path in texts.values():
                    member = tar.extractfile(path.name)
                    assert member is not None  # a regular file
                    with member, path.open("wb") as text:
                        shutil.copyfileobj(member, text)
            while stream.read(BLOCK):  # the checksum stands at the end of the gzip stream
                pass
    except (KeyError, EOFError, zlib.error, gzip.BadGzipFile, tarfile.TarError) as error:
        raise UserError(
            f"{archive} is damaged or is not the archive of Europarl ({error}); if it is in "
            "your corpus.directory, replace it; otherwise run this again to download it again."
        ) from error
    return texts
