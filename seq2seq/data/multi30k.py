"""Multi30k (Elliott et al. 2016): image captions in English, German and French.

The files come from the repository ``multi30k/dataset`` and are pinned: their content, unpacked,
has one SHA-256 each. A score computed here is a score on the same sentences as everybody else's.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from seq2seq.data.archives import gunzip
from seq2seq.data.download import USUAL, Patience, fetch
from seq2seq.data.text import content_digest
from seq2seq.errors import UserError


@dataclass(frozen=True)
class Multi30kSource:
    """Where the corpus lies, and what its files must contain."""

    base: str
    """URL of the folder with ``<split>.<language>.gz``."""
    digests: Mapping[str, str]
    """``<split>.<language>`` -> SHA-256 of the unpacked text."""
    tests: tuple[str, ...]
    """The splits that are test sets."""
    max_bytes: int = 50_000_000
    """Most bytes a file may have, packed or unpacked."""
    patience: Patience = USUAL
    """How long to insist on an answer."""


MULTI30K = Multi30kSource(
    base="https://raw.githubusercontent.com/multi30k/dataset/master/data/task1/raw/",
    digests={
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
    },
    tests=("test_2016_flickr", "test_2017_flickr"),
)


def download(source: Multi30kSource, base: str | None, languages: list[str], folder: Path) -> None:
    """Fetch the files of ``languages`` that ``folder`` lacks, as plain ``<split>.<language>``.

    ``base`` is a mirror's base URL, or None for the public one.
    """
    base = (base or source.base).rstrip("/")
    for name in _names(source, languages):
        path = folder / name
        if path.is_file():
            continue
        url = f"{base}/{name}.gz"
        archive = folder / f"{name}.download"  # not .gz: left by a kill, it is no second text
        fetch(url, archive, source.max_bytes, source.patience)
        gunzip(archive, path, source.digests[name], source.max_bytes, url)
        archive.unlink()


def is_complete(source: Multi30kSource, languages: list[str], folder: Path) -> bool:
    """Say whether ``folder`` has all files of ``languages``, so that nothing need be fetched."""
    return all((folder / name).is_file() for name in _names(source, languages))


def verify(source: Multi30kSource, files: Mapping[str, Path], mend: str) -> None:
    """Compare the files that are read, whatever they are called, with their pins.

    Args:
        source: holds the pins.
        files: ``<split>.<language>`` as the pins are named -> the file that is read for it.
        mend: what to do about an altered file, besides ``corpus=files``.
    """
    for name, path in files.items():
        digest = content_digest(path)
        if digest != source.digests[name]:
            raise UserError(
                f"{path} is not Multi30k's {name}: its content has SHA-256 {digest}, not "
                f"{source.digests[name]}; {mend}, or use corpus=files for altered text."
            )


def _names(source: Multi30kSource, languages: list[str]) -> list[str]:
    return [name for name in source.digests if name.rsplit(".", 1)[1] in languages]
