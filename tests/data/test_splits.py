"""Splits share no source, have the sizes asked for, and hold or count every pair once."""

from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from helpers.samples import joined, put
from hypothesis import given
from hypothesis import strategies as st

from seq2seq.data.corpora import EMPTY, OPEN, WAYS, source_digest, split_text
from seq2seq.data.text import read_pairs
from seq2seq.errors import UserError


def plain(source):
    """The source but for capitals and spacing."""
    return " ".join(source.split()).casefold()


def slow_labels(pairs, sizes, kept, unique):
    """The rule of ``split_text``, one pair at a time; None if the text is too short for it."""
    valid, test = sizes
    elsewhere = {plain(source) for source in kept}
    filled = [pair for pair in pairs if min(map(str.strip, pair))]
    order = sorted({plain(source) for source, _ in filled} - elsewhere, key=source_digest)
    if len(order) <= valid + test:
        return None
    split = dict.fromkeys(order, "train")
    split |= dict.fromkeys(order[:test], "test") | dict.fromkeys(order[test:][:valid], "valid")
    labels, seen = [], set()
    for pair in pairs:
        source = plain(pair[0])
        if pair not in filled:
            labels.append("empty")
        elif source in elsewhere:
            labels.append("held_out")
        elif unique and pair in seen:
            labels.append("duplicate")
        else:
            further = split[source] != "train" and source in seen
            labels.append("held_out" if further else split[source])
        seen |= {pair, source} if pair in filled else set()
    return labels


SIDE = st.text("abA ", max_size=4)


@given(
    pairs=st.lists(st.tuples(SIDE, SIDE), max_size=40),
    sizes=st.tuples(st.integers(0, 3), st.integers(0, 3)),
    kept=st.lists(SIDE, max_size=3),
    unique=st.booleans(),
)
def test_every_pair_is_in_one_split_or_counted(pairs, sizes, kept, unique):
    def label(source, target):
        return OPEN if source.strip() and target.strip() else EMPTY

    labels = slow_labels(pairs, sizes, kept, unique)
    with TemporaryDirectory() as name:
        folder = Path(name)
        put(folder, {"kept": joined(kept)})
        more = {"kept": [folder / "kept"], "unique": unique}
        if labels is None:
            with pytest.raises(UserError, match=r"corpus\.test_pairs"):
                split_text(folder, ("en", "fr"), lambda: iter(pairs), label, sizes, **more)
            return
        counts = split_text(folder, ("en", "fr"), lambda: iter(pairs), label, sizes, **more)
        assert counts == {"read": len(pairs), **{way: labels.count(way) for way in WAYS}}
        for split in {"train", "valid", "test"} & {*labels}:
            found = [*read_pairs(folder / f"{split}.en", folder / f"{split}.fr")]
            assert found == [pair for pair, way in zip(pairs, labels, strict=True) if way == split]
