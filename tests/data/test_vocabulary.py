"""Ids are stable, unknown pieces are unknown, and the text file is exact."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seq2seq.data.vocabulary import BOS, EOS, PAD, SPECIALS, UNK, Vocabulary
from seq2seq.errors import UserError

PIECE = st.text(min_size=1, max_size=6).filter(lambda piece: "\n" not in piece)
COUNTS = st.dictionaries(
    PIECE.filter(lambda piece: piece not in SPECIALS), st.integers(1, 50), max_size=30
)


def test_the_specials_come_first() -> None:
    vocabulary = Vocabulary(["b", "a"], [1, 2])
    assert vocabulary.pieces == ["<pad>", "<unk>", "<s>", "</s>", "b", "a"]
    assert vocabulary.counts == [0, 0, 0, 0, 1, 2]
    assert [vocabulary.pieces[i] for i in (PAD, UNK, BOS, EOS)] == list(SPECIALS)
    assert len(vocabulary) == 6


def test_unknown_pieces_become_unk_and_leave_no_trace() -> None:
    vocabulary = Vocabulary(["a"], [1])
    assert vocabulary.encode(["a", "new", "a"]) == [4, UNK, 4]
    assert len(vocabulary) == 5
    assert vocabulary.decode([4, UNK]) == ["a", "<unk>"]


@pytest.mark.parametrize("special", SPECIALS)
def test_a_special_spelt_out_in_the_text_is_an_unknown_word(special: str) -> None:
    vocabulary = Vocabulary.from_counts({special: 9, "a": 1})
    assert vocabulary.pieces == [*SPECIALS, "a"]
    assert vocabulary.encode([special, "a"]) == [UNK, 4]


@given(COUNTS, st.integers(4, 20) | st.none(), st.integers(1, 10))
def test_the_most_frequent_are_kept(
    counts: dict[str, int], size: int | None, min_frequency: int
) -> None:
    vocabulary = Vocabulary.from_counts(counts, size, min_frequency)
    frequent = [piece for piece, count in counts.items() if count >= min_frequency]
    expected = sorted(frequent, key=lambda piece: (-counts[piece], piece))
    if size is not None:
        expected = expected[: size - len(SPECIALS)]
    assert vocabulary.pieces == [*SPECIALS, *expected]
    assert vocabulary.counts[len(SPECIALS) :] == [counts[piece] for piece in expected]


@given(COUNTS)
def test_decoding_undoes_encoding(counts: dict[str, int]) -> None:
    vocabulary = Vocabulary.from_counts(counts)
    assert vocabulary.decode(vocabulary.encode(counts)) == list(counts)


@given(pieces=st.lists(PIECE, unique=True).map(lambda ps: [p for p in ps if p not in SPECIALS]))
def test_the_file_gives_the_vocabulary_back(
    tmp_path_factory: pytest.TempPathFactory, pieces: list[str]
) -> None:
    path = tmp_path_factory.mktemp("vocabulary") / "vocabulary.tsv"
    vocabulary = Vocabulary(pieces, range(len(pieces)))
    vocabulary.save(path)
    loaded = Vocabulary.load(path)
    assert loaded.pieces == vocabulary.pieces
    assert loaded.counts == vocabulary.counts
    assert loaded.encode(pieces) == list(range(4, 4 + len(pieces)))


def test_odd_pieces_survive_the_file(tmp_path: Path) -> None:
    pieces = ["a\u00a0b", "c\u2028d", "e\r", "\ufeff", "f\tg", "▁", "\x85", "7"]
    Vocabulary(pieces, [1] * len(pieces)).save(tmp_path / "v.tsv")
    assert Vocabulary.load(tmp_path / "v.tsv").pieces[4:] == pieces
    assert (tmp_path / "v.tsv").read_bytes().count(b"\n") == 4 + len(pieces)


HEAD = "<pad>\t0\n<unk>\t0\n<s>\t0\n</s>\t0\n"


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"a\t1\n",
        *((HEAD + line).encode() for line in ("a\n", "a\tb\n", "\t3\n", "a\t3\na\t2\n", "a\t3")),
        HEAD.encode() + b"\xff\t1\n",
    ],
)
def test_a_malformed_or_missing_file_is_named(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "vocabulary.source.tsv"
    for _ in range(2):
        with pytest.raises(UserError, match=str(path)):
            Vocabulary.load(path)
        path.write_bytes(content)
