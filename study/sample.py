"""``python study/sample.py FOLDER PAIRS``: write the digests that corpus.sample=study looks for.

FOLDER has train, valid and test of Europarl, English and French; of each, at most the first PAIRS
pairs are taken.
"""

import itertools
import sys
from pathlib import Path
from typing import Any

import numpy as np

from seq2seq.data import europarl
from seq2seq.data.text import find_text, read_pairs

OUTPUT = europarl.SAMPLES / "europarl_study.npz"


def main(folder: str, pairs: str) -> None:
    """Write the digests of the pairs of each split, in the order of the pairs."""
    digests: dict[str, Any] = {}
    for split in ("train", "valid", "test"):
        text, missing = find_text(Path(folder), split, ("en", "fr"))
        assert text, missing
        lines = itertools.islice(read_pairs(text.source, text.target), int(pairs))
        digests[split] = np.array([europarl.pair_digest(*pair) for pair in lines], np.uint32)
    np.savez(OUTPUT, **digests)


if __name__ == "__main__":
    main(*sys.argv[1:])
