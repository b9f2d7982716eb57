"""Multi30k (Elliott et al. 2016): image captions, each file with its SHA-256 in multi30k.sha256."""

import gzip
from functools import partial
from pathlib import Path

from seq2seq.config import Multi30kCorpus
from seq2seq.data.download import fetch
from seq2seq.data.text import ParallelText, TextFolder, content_digest
from seq2seq.errors import UserError

BASE = "https://raw.githubusercontent.com/multi30k/dataset/master/data/task1/raw/"
TESTS = ("test_2016_flickr", "test_2017_flickr")
_LINES = Path(__file__).with_name("multi30k.sha256").read_text(encoding="utf-8").splitlines()
DIGESTS = {name: found for found, name in map(str.split, _LINES)}
"""``<split>.<language>`` -> SHA-256 of the unpacked text."""


def text_folder(config: Multi30kCorpus, own: Path | None, home: Path) -> TextFolder:
    """Return ``own``, or a folder below ``home`` and the function that downloads into it."""
    languages = sorted((config.source, config.target))
    return (own, None) if own else (home / "-".join(languages), partial(_download, config))


def _download(config: Multi30kCorpus, folder: Path) -> None:
    for name in DIGESTS:
        if name.rpartition(".")[2] in (config.source, config.target):
            packed = fetch(config.mirror or BASE, f"{name}.gz", folder)
            _require(packed, name)
            (folder / name).write_bytes(gzip.decompress(packed.read_bytes()))
            packed.unlink()


def verify(config: Multi30kCorpus, texts: dict[str, ParallelText]) -> None:
    """Require the pinned content of each text."""
    for name, text in texts.items():
        for path, language in ((text.source, config.source), (text.target, config.target)):
            _require(path, f"{'val' if name == 'valid' else name}.{language}")


def _require(path: Path, name: str) -> None:
    if (found := content_digest(path)) != DIGESTS[name]:
        raise UserError(
            f"{path} is not Multi30k's {name}: its content has the SHA-256 {found}; for altered "
            "text, use corpus=files."
        )
