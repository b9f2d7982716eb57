"""Small corpora, and how the tests write and count them."""

import os
from pathlib import Path

from seq2seq.data.text import read_aligned, read_lines

REAL = Path(os.environ.get("SEQ2SEQ_CORPORA", Path(__file__).parents[3] / "shared" / "corpora"))
"""Real corpora, if any: the folders multi30k and europarl as corpus.directory takes them."""

SMALL = {
    "train.en": b"a\nb\nc\n",
    "train.fr": b"d\ne\nf\n",
    "valid.en": b"a\n",
    "valid.fr": b"b\n",
    "test.en": b"a\nb\n",
    "test.fr": b"c\nd\n",
}


def put(folder, texts, ending="", pack=bytes):
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in texts.items():
        (folder / (name + ending)).write_bytes(pack(text))
    return str(folder)


def counts(corpus):
    texts = {"train": corpus.train, "valid": corpus.valid, **corpus.tests}
    return {name: len(list(read_lines(text.source))) for name, text in texts.items()}


def aligned(text):
    """The pairs of ``text``."""
    return list(zip(*read_aligned(text.source, text.target), strict=True))


def ids_of(pairs, i):
    """Source and target ids of pair ``i``, as lists."""
    source, target = (
        offsets[i : i + 2] for offsets in (pairs.source_offsets, pairs.target_offsets)
    )
    return pairs.source_ids[slice(*source)].tolist(), pairs.target_ids[slice(*target)].tolist()
