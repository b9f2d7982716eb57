"""``python study/sample.py FOLDER PAIRS``: the digests by which corpus.sample=study finds its text.

FOLDER has train, valid and test of Europarl, English and French; PAIRS is how many of train count.
"""

import itertools
import sys
from pathlib import Path
from typing import Any

import numpy as np

from seq2seq.data import europarl
from seq2seq.data.text import find_pair, read_pairs

OUTPUT = europarl.SAMPLES / "europarl_study.npz"


def main(folder: str, pairs: str) -> None:
    """Write the digests of each split, in its order."""
    digests: dict[str, Any] = {}
    for split in ("train", "valid", "test"):
        files = find_pair(Path(folder), [(f"{split}.en", f"{split}.fr")]).values()
        source, target = (path for path in files if path is not None)
        lines = itertools.islice(read_pairs(source, target), int(pairs))
        digests[split] = np.array([europarl.pair_digest(*pair) for pair in lines], np.uint32)
    np.savez(OUTPUT, **digests)


if __name__ == "__main__":
    main(*sys.argv[1:])
