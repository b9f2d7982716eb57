"""Small corpora, and how the tests write and read them."""

from seq2seq.data.text import read_aligned

SMALL = {
    "train.en": b"a\nb\nc\n",
    "train.fr": b"d\ne\nf\n",
    "valid.en": b"a\n",
    "valid.fr": b"b\n",
    "test.en": b"a\nb\n",
    "test.fr": b"c\nd\n",
}


def joined(lines):
    return "".join(f"{line}\n" for line in lines).encode()


def put(folder, texts, ending="", pack=bytes):
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in texts.items():
        (folder / (name + ending)).write_bytes(pack(text))
    return str(folder)


def aligned(text):
    """The pairs of ``text``."""
    return list(zip(*read_aligned(text.source, text.target), strict=True))


def ids_of(pairs, i):
    """Source and target ids of pair ``i``, as lists."""
    source = slice(*pairs.source_offsets[i : i + 2])
    target = slice(*pairs.target_offsets[i : i + 2])
    return pairs.source_ids[source].tolist(), pairs.target_ids[target].tolist()
