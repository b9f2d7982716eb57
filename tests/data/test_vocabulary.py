"""Ids are stable, unknown pieces are unknown, and the text file is exact."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from seq2seq.data.vocabulary import SPECIALS, UNK, Vocabulary
from seq2seq.errors import UserError

PIECE = st.text(min_size=1, max_size=6).filter(lambda piece: "\n" not in piece)
COUNTS = st.dictionaries(PIECE | st.sampled_from(SPECIALS), st.integers(1, 50), max_size=30)


@given(COUNTS, st.integers(4, 20) | st.none(), st.integers(1, 10))
def test_the_most_frequent_are_kept(counts, size, min_frequency):
    vocabulary = Vocabulary.from_counts(counts, size, min_frequency)
    assert vocabulary.encode(SPECIALS) == [UNK] * 4  # spelt out in a text, they are no words
    frequent = {piece for piece, count in counts.items() if count >= min_frequency}
    expected = sorted(frequent.difference(SPECIALS), key=lambda piece: (-counts[piece], piece))
    if size is not None:
        expected = expected[: size - len(SPECIALS)]
    assert vocabulary.pieces == [*SPECIALS, *expected]
    assert vocabulary.counts[len(SPECIALS) :] == [counts[piece] for piece in expected]
    assert all((piece in vocabulary) == (piece in expected) for piece in [*counts, *SPECIALS])


@example(pieces=["a\u00a0b", "c\u2028d", "e\r", "\ufeff", "f\tg", "▁", "\x85", "7"])
@given(pieces=st.lists(PIECE, unique=True).map(lambda ps: [p for p in ps if p not in SPECIALS]))
def test_the_file_gives_the_vocabulary_back(tmp_path_factory, pieces):
    path = tmp_path_factory.mktemp("vocabulary") / "vocabulary.tsv"
    vocabulary = Vocabulary(pieces, range(len(pieces)))
    vocabulary.save(path)
    loaded = Vocabulary.load(path)
    assert loaded.pieces == vocabulary.pieces
    assert loaded.counts == vocabulary.counts
    assert loaded.encode(pieces) == list(range(4, 4 + len(pieces)))


def test_a_malformed_file_is_named(tmp_path):
    path = tmp_path / "vocabulary.source.tsv"
    head = b"<pad>\t0\n<unk>\t0\n<s>\t0\n</s>\t0\n"
    path.write_bytes(head + b"a\t3\n")
    assert Vocabulary.load(path).pieces[-1] == "a"
    lines = b"a\n", b"a\tb\n", b"\t3\n", b"a\t3\na\t2\n", b"a\t3", b"\xff\t1\n"
    for content in (b"", b"a\t1\n", *(head + line for line in lines)):
        path.write_bytes(content)
        with pytest.raises(UserError, match=str(path)):
            Vocabulary.load(path)
