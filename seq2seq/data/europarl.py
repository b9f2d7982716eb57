"""Europarl v7 (Koehn 2005), English-French: unpacked, cleaned and split."""

import gzip
import hashlib
import logging
import shutil
import tarfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np

from seq2seq.config import EuroparlCorpus
from seq2seq.data.download import fetch
from seq2seq.data.splits import clean_and_split, made_text, stripped_pairs
from seq2seq.data.text import TextFolder, find_file, find_test_names, write_lines
from seq2seq.errors import UserError
from seq2seq.files import BLOCK, file_digest, file_state, write_json

log = logging.getLogger(__name__)

BASE = "https://www.statmt.org/europarl/v7/"
ARCHIVE = "fr-en.tgz"
MEMBERS = {"en": "europarl-v7.fr-en.en", "fr": "europarl-v7.fr-en.fr"}
SAMPLES = Path(__file__).parent


def text_folder(config: EuroparlCorpus, raw: Path | None, home: Path) -> TextFolder:
    """Return the folder of the cleaned and split corpus, and the function to make it.

    If ``raw`` has test files, its text is already split: return ``raw`` and None. ``raw`` may also
    hold the raw texts or their archive; if ``raw`` is None, the function downloads the archive.
    UserError, here or from the function, if the text is missing, damaged or too short.
    """
    if raw is not None and find_test_names(raw, (config.source, config.target)):
        return raw, None
    files = [] if raw is None else _raw_files(raw)
    sizes = (config.max_words, float(config.max_ratio), config.valid_pairs, config.test_pairs)
    own = [file_state(path) for path in files]
    split = pick_sample if config.sample else clean_and_split

    def fill(folder: Path) -> None:
        if len(files) == len(MEMBERS):
            split(config, dict(zip(MEMBERS, files, strict=True)), folder)
            return
        archive = files[0] if files else fetch(config.mirror or BASE, ARCHIVE, home)
        try:
            texts = _unpack(archive, folder)
        except UserError:
            if raw is None:
                archive.unlink()  # so that it is downloaded again; the user's own file stays
            raise
        split(config, texts, folder, archive=file_digest(archive))
        for path in texts.values():
            path.unlink()

    recipe = [config.sample or sizes, *own]
    return made_text(home, f"{config.source}-{config.target}-", recipe, fill)


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


def _unpack(archive: Path, folder: Path) -> dict[str, Path]:
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


def pick_sample(
    config: EuroparlCorpus, texts: dict[str, Path], folder: Path, **origin: Any
) -> None:
    """Write the splits of the sample ``config.sample``, instead of those of clean_and_split.

    Pairs are found by their :func:`pair_digest` and written in the sample's order. Pairs that are
    not in ``texts`` are left out; UserError if no pair of a split was found.
    """
    with np.load(SAMPLES / f"europarl_{config.sample}.npz") as stored:
        splits = {name: stored[name].tolist() for name in ("train", "valid", "test")}
    wanted = {code for codes in splits.values() for code in codes}
    found: dict[int, tuple[str, str]] = {}
    for pair in stripped_pairs(config, texts, "looking for the sample"):
        english, french = pair if config.source == "en" else pair[::-1]
        code = pair_digest(english, french)
        if code in wanted:
            found.setdefault(code, pair)
    counts = {name: sum(code in found for code in codes) for name, codes in splits.items()}
    for name, codes in splits.items():
        log.info("%s: %d of %d pairs of the sample found", name, counts[name], len(codes))
        if not counts[name]:
            raise UserError(
                f"{texts[config.source]} has none of the {name} pairs of corpus.sample="
                f"{config.sample}; use the archive {ARCHIVE} of {BASE}, or set corpus.sample=null."
            )
        for side, language in enumerate((config.source, config.target)):
            lines = [found[code][side] for code in codes if code in found]
            write_lines(folder / f"{name}.{language}", lines)
    sizes = {name: len(codes) for name, codes in splits.items()}
    report = {"sample": config.sample, **origin, "pairs": counts, "pairs_of_the_sample": sizes}
    write_json(folder / "cleaning.json", report)


def pair_digest(english: str, french: str) -> int:
    """Return a 32-bit hash of a pair, ignoring case and spaces.

    By chance, about 100 of Europarl's two million pairs have the hash of a different pair in the
    study's sample.
    """
    text = "\t".join("".join(side.split()).casefold() for side in (english, french))
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=4).digest(), "big")
