"""Splits share no source, have the sizes asked for, and hold or count every pair once."""

from collections import Counter
from itertools import combinations
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from seq2seq.data.splits import (
    DUPLICATE,
    EMPTY,
    HELD_OUT,
    OPEN,
    TEST,
    TRAIN,
    VALID,
    assign,
    split_text,
)
from seq2seq.data.text import read_pairs, write_lines
from seq2seq.errors import UserError


def assign_slowly(pairs, sources, valid, test, elsewhere):
    """The rule of ``assign``, one pair at a time."""
    order = sorted({*sources} - elsewhere)[: valid + test]
    split = {source: TEST if i < test else VALID for i, source in enumerate(order)}
    seen_pairs, seen_sources, labels = set(), set(), []
    for pair, source in zip(pairs, sources, strict=True):
        if source in elsewhere:
            labels.append(HELD_OUT)
            continue
        if pair in seen_pairs:
            labels.append(DUPLICATE)
            continue
        label = split.get(source, TRAIN)
        if label != TRAIN and source in seen_sources:
            label = HELD_OUT
        labels.append(label)
        seen_pairs.add(pair)
        seen_sources.add(source)
    return labels


@given(
    pairs=st.lists(st.tuples(st.integers(0, 12), st.integers(0, 3)), max_size=40),
    valid=st.integers(1, 4),
    test=st.integers(1, 4),
    elsewhere=st.sets(st.integers(0, 14), max_size=4),
)
def test_assign_follows_its_rule(pairs, valid, test, elsewhere):
    digests = np.array([source * 10 + target for source, target in pairs], np.uint64)
    sources = np.array([source for source, _ in pairs], np.uint64)
    given_already = np.array([*elsewhere], np.uint64)
    if len({*sources.tolist()} - elsewhere) > valid + test:
        expected = assign_slowly(digests.tolist(), sources.tolist(), valid, test, elsewhere)
        assert assign(digests, sources, valid, test, given_already).tolist() == expected
        return
    with pytest.raises(UserError, match=r"corpus\.test_pairs"):
        assign(digests, sources, valid, test, given_already)


def plain(source):
    """The source but for capitals and spacing."""
    return " ".join(source.split()).casefold()


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

    def split(folder, pairs):
        Path(folder).mkdir(exist_ok=True)
        write_lines(folder / "kept", kept)
        files, read = [folder / "kept"], lambda: iter(pairs)
        counts = split_text(folder, ("en", "fr"), read, label, sizes, kept=files, unique=unique)
        names = [name for name in ("train", "valid", "test") if (folder / f"{name}.en").exists()]
        return counts, {n: [*read_pairs(folder / f"{n}.en", folder / f"{n}.fr")] for n in names}

    known = {plain(source) for source in kept}
    sources = {plain(s) for s, t in pairs if s.strip() and t.strip()} - known
    with TemporaryDirectory() as folder:
        if len(sources) <= sum(sizes):
            with pytest.raises(UserError, match="distinct source"):
                split(Path(folder), pairs)
            return
        counts, splits = split(Path(folder), pairs)
        _, turned = split(Path(folder, "turned"), pairs[::-1])
    assert counts.pop("read") == len(pairs) == sum(counts.values())
    assert {name: len(splits.get(name, ())) for name in ("train", "valid", "test")} == {
        name: counts[name] for name in ("train", "valid", "test")
    }
    assert (counts["valid"], counts["test"]) == sizes
    found = {name: {plain(source) for source, _ in split} for name, split in splits.items()}
    for one, other in combinations([*found.values(), known], 2):
        assert not one & other
    assert set.union(*found.values()) == sources
    assert found == {name: {plain(s) for s, _ in split} for name, split in turned.items()}
    for split_pairs in splits.values():  # in the order of the text
        rest = iter(pairs)
        assert all(pair in rest for pair in split_pairs)
    most = Counter(pair for split_pairs in splits.values() for pair in split_pairs)
    assert all(n <= (1 if unique else pairs.count(pair)) for pair, n in most.items())
