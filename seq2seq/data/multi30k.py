"""Multi30k (Elliott et al. 2016): image captions in English, German and French.

The files come from the repository ``multi30k/dataset``. Each must have the SHA-256 below, so that
all scores are on the same sentences.
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
DIGESTS = {
    "train.de": "2c2b73fd2b548fbcde3a875e0a78d6ee94d498bfdee6bd3eae3945779e9ddf72",
    "train.en": "460a15fbd157e34a7a9957ee388c1ca247fe47af3ef25fb50442af6c274e0fc6",
    "train.fr": "5925a3c18f1587b6b54b87743106e6e8ab93618edb6f65d19eac0621f853a10d",
    "val.de": "660e09eb7e1da2f856ea13ee5ad3cf6d36b3d5b0b733c857e94c5747a3dfc660",
    "val.en": "1f2a23d992769b5b3d209b0a10dd0b77c08cceb1f20dfb97ed0aafa49d107227",
    "val.fr": "5304e444d842e962b2dda4d816b70b22a1765b15401642b7ca37a67477e708dc",
    "test_2016_flickr.de": "4be6b5b3236b79c25475c6bb829800a7ce559e9ba7a1f6c2394fe4d40be46d16",
    "test_2016_flickr.en": "399a4382932c1aadd3ceb9bef1008d388a64c76d4ae4e9d4728c6f4301cac182",
    "test_2016_flickr.fr": "cb3160d69b002bb638e66cc7612fcd56cb0af82eadc9c142dedc438afb885ef6",
    "test_2017_flickr.de": "c3078bc3b36808bf9d20eb2347ed6137016179ef59ec0d2b9b8ecc3fb2880081",
    "test_2017_flickr.en": "ce1450ddc5ab0834502579d77a170849952e15a2938b34cc503bdc25ebb4fb98",
    "test_2017_flickr.fr": "6f3764e31dac41e9455e612958bcfd4e877c5e15cd66df2c2b2be6d9bd83e5b6",
}
"""``<split>.<language>`` -> SHA-256 of the unpacked text."""


def text_folder(config: Multi30kCorpus, own: Path | None, home: Path) -> TextFolder:
    """Return the text folder, and a function that downloads its missing files.

    If ``own``, the user's folder, is set, return it and None. UserError later, if a file cannot be
    downloaded, or its SHA-256 is not in ``DIGESTS``.
    """
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
            f"{DIGESTS[name]}; delete it, or set corpus.mirror, and run this again; or "
            "use corpus=files for altered text."
        )
