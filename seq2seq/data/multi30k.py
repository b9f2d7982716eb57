"""Multi30k (Elliott et al. 2016): image captions in English, German and French.

The files come from the repository ``multi30k/dataset``. Each must have the SHA-256 in
``multi30k.sha256``, so that all scores are on the same sentences.
"""

import gzip
from collections.abc import Mapping
from functools import partial
from pathlib import Path

from seq2seq.config import Multi30kCorpus
from seq2seq.data.download import fetch
from seq2seq.data.text import ParallelText, TextFolder, content_digest
from seq2seq.errors import UserError
from seq2seq.files import locked, write_whole

BASE = "https://raw.githubusercontent.com/multi30k/dataset/master/data/task1/raw/"
TESTS = ("test_2016_flickr", "test_2017_flickr")
_LINES = Path(__file__).with_name("multi30k.sha256").read_text(encoding="utf-8").splitlines()
DIGESTS = {name: found for found, name in map(str.split, _LINES)}
"""``<split>.<language>`` -> SHA-256 of the unpacked text."""


def text_folder(config: Multi30kCorpus, own: Path | None, home: Path) -> TextFolder:
    """Return ``home`` and the function to fill it; if ``own`` is set, ``own`` and None."""
    return (own, None) if own else (home, partial(_download, config, home))


def _download(config: Multi30kCorpus, folder: Path) -> None:
    languages = (config.source, config.target)
    names = [name for name in DIGESTS if name.rpartition(".")[2] in languages]
    if all((folder / name).is_file() for name in names):
        return
    folder.mkdir(parents=True, exist_ok=True)
    with locked(folder.with_name("multi30k.lock")):
        for path in (folder / name for name in names):
            if path.is_file():
                continue
            packed = fetch(config.mirror or BASE, f"{path.name}.gz", folder)
            try:
                _verify(path.name, packed)
                write_whole(path, gzip.decompress(packed.read_bytes()))
            finally:
                packed.unlink()


def verify(config: Multi30kCorpus, texts: Mapping[str, ParallelText]) -> None:
    """Compare the SHA-256 of the text files with ``DIGESTS``; UserError if one differs."""
    for split, text in texts.items():
        split = "val" if split == "valid" else split
        _verify(f"{split}.{config.source}", text.source)
        _verify(f"{split}.{config.target}", text.target)


def _verify(name: str, path: Path) -> None:
    if (found := content_digest(path)) != DIGESTS[name]:
        raise UserError(
            f"{path} is not Multi30k's {name}: its content has SHA-256 {found}, not "
            f"{DIGESTS[name]}; delete it if it is still there, or set corpus.mirror, and run this "
            "again; for altered text, use corpus=files."
        )
