"""Ids are stable, unknown pieces are unknown, and the text file is exact."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from seq2seq.data.vocabulary import SPECIALS, UNK, Vocabulary
from seq2seq.errors import UserError

PIECE = st.text(min_size=1, max_size=6).filter(lambda piece: "\n" not in piece)
COUNTS = st.dictionaries(PIECE | st.sampled_from(SPECIALS), st.integers(1, 50), max_size=30)
ODD = dict.fromkeys(["a\u00a0b", "c\u2028d", "e\r", "\ufeff", "f\tg", "▁", "\x85", "7"], 1)


@example(counts=ODD, size=None, min_frequency=1)
@given(COUNTS, st.integers(4, 20) | st.none(), st.integers(1, 10))
def test_the_most_frequent_are_kept_also_in_a_file(tmp_path_factory, counts, size, min_frequency):
    vocabulary = Vocabulary.from_counts(counts, size, min_frequency)
    frequent = {piece for piece, count in counts.items() if count >= min_frequency}
    expected = sorted(frequent.difference(SPECIALS), key=lambda piece: (-counts[piece], piece))
    expected = expected[: None if size is None else size - 4]
    path = tmp_path_factory.mktemp("vocabulary") / "vocabulary.tsv"
    vocabulary.save(path)
    for one in (vocabulary, Vocabulary.load(path)):
        assert one.pieces == [*SPECIALS, *expected]
        assert one.counts[4:] == [counts[piece] for piece in expected]
        assert one.encode([*SPECIALS, *expected]) == [UNK] * 4 + [*range(4, len(one))]
        assert all((piece in one) == (piece in expected) for piece in counts)


def test_a_malformed_file_is_named(tmp_path):
    path = tmp_path / "vocabulary.source.tsv"
    head = b"<pad>\t0\n<unk>\t0\n<s>\t0\n</s>\t0\n"
    lines = b"a\n", b"a\tb\n", b"\t3\n", b"a\t3\na\t2\n", b"a\t3", b"\xff\t1\n"
    for content in (b"", b"a\t1\n", *(head + line for line in lines)):
        path.write_bytes(content)
        with pytest.raises(UserError, match=str(path)):
            Vocabulary.load(path)
