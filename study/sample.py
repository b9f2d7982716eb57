"""``python study/sample.py FOLDER [RAW]``: write the study's pairs of Europarl into FOLDER.

``corpus.directory=FOLDER`` then trains on them. ``study/europarl.npz`` has their hashes, by which
they are found in the archive fr-en.tgz. If the archive is not in the folder RAW, it is downloaded.
"""

import hashlib
import sys
from pathlib import Path

import numpy as np

from seq2seq.data.download import fetch
from seq2seq.data.europarl import ARCHIVE, BASE, unpack
from seq2seq.data.text import read_pairs, write_lines

DIGESTS = Path(__file__).with_name("europarl.npz")


def pair_digest(english: str, french: str) -> int:
    """Return a 32-bit hash of a pair, ignoring case and spaces.

    By chance, about 100 of Europarl's two million pairs have the hash of a different pair here.
    """
    text = "\t".join("".join(side.split()).casefold() for side in (english, french))
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=4).digest(), "big")


def main(folder: str, raw: str = "data/corpora/europarl") -> None:
    """Write train, valid and test, each with the pairs that were found, in the study's order."""
    with np.load(DIGESTS) as stored:
        splits = {name: stored[name].tolist() for name in ("train", "valid", "test")}
    wanted = {code for codes in splits.values() for code in codes}
    archive = fetch(BASE, ARCHIVE, Path(raw))
    Path(folder).mkdir(parents=True, exist_ok=True)
    texts = unpack(archive, Path(folder))
    found: dict[int, tuple[str, str]] = {}
    for english, french in read_pairs(texts["en"], texts["fr"]):
        if (code := pair_digest(english, french)) in wanted:
            found.setdefault(code, (english.strip(), french.strip()))
    for name, codes in splits.items():
        pairs = [found[code] for code in codes if code in found]
        print(f"{name}: {len(pairs):,} of {len(codes):,} pairs found")
        for language, lines in zip(texts, zip(*pairs, strict=True), strict=True):
            write_lines(Path(folder) / f"{name}.{language}", lines)
    for text in texts.values():
        text.unlink()


if __name__ == "__main__":
    main(*sys.argv[1:])
