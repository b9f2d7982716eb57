"""The stream from text files to flat ids: what is chosen, in which order, at what count."""

import json
import random
import subprocess
import sys
from collections import Counter
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from seq2seq.data import encoding
from seq2seq.data.encoding import (
    Pair,
    TokenIdWriter,
    read_pairs,
    sample,
    tokenize_chunk,
    tokenize_pairs,
)
from seq2seq.data.parallel_text import ParallelText
from seq2seq.data.tokenization import MosesWordTokenizer, WhitespaceTokenizer
from seq2seq.errors import UserError

ENGLISH, GERMAN = WhitespaceTokenizer("en"), WhitespaceTokenizer("de")


def files(folder: Path, source: str, target: str) -> ParallelText:
    for name, text in (("t.en", source), ("t.de", target)):
        (folder / name).write_bytes(text.encode("utf-8"))
    return ParallelText(folder / "t.en", folder / "t.de")


def test_blank_and_long_pairs_are_left_out_and_counted(tmp_path: Path) -> None:
    text = files(tmp_path, "a b\n\nc\na b c d\ne\n", "A\nB\n \u00a0\nD\nE F G H\n")
    skipped: Counter[str] = Counter()
    assert list(read_pairs(text, None, None, skipped)) == [
        Pair(1, "a b", "A"),
        Pair(4, "a b c d", "D"),
        Pair(5, "e", "E F G H"),
    ]
    assert skipped == {"empty": 2}
    skipped.clear()
    assert [pair.line for pair in read_pairs(text, None, 3, skipped)] == [1]
    assert skipped == {"empty": 2, "max_words": 2}


def test_files_of_unequal_length_are_refused(tmp_path: Path) -> None:
    text = files(tmp_path, "a\nb\n", "A\n")
    with pytest.raises(UserError, match="differ in length: one ends after line 1"):
        list(read_pairs(text, None, None, Counter()))


@given(st.integers(0, 60), st.integers(1, 70))
def test_a_sample_is_evenly_spaced(total: int, limit: int) -> None:
    pairs = [Pair(i, "a", "b") for i in range(total)]
    lines = [pair.line for pair in sample(pairs, total, limit)]
    assert len(lines) == min(total, limit)
    assert lines == sorted(set(lines))
    if len(lines) > 1:
        assert np.ptp(np.diff(lines)) <= 1


def test_a_chunk_drops_sides_without_pieces_or_with_too_many() -> None:
    pairs = [Pair(3, "a b a", "x"), Pair(4, "a", " "), Pair(6, "a", "w x y z"), Pair(9, "c", "x y")]
    chunk = tokenize_chunk(pairs, ENGLISH, GERMAN, max_pieces=3)
    assert chunk.lines.tolist() == [3, 9]
    assert chunk.source.pieces == ["a", "b", "c"]
    assert chunk.source.ids.tolist() == [0, 1, 0, 2]
    assert chunk.source.lengths.tolist() == [3, 1]
    assert chunk.target.pieces == ["x", "y"]
    assert chunk.target.ids.tolist() == [0, 0, 1]
    assert (chunk.empty, chunk.too_long) == (1, 1)


def test_worker_processes_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """With more chunks than may be under way at a time."""
    monkeypatch.setattr(encoding, "CHUNK", 100)
    chance = random.Random(1)
    words = ["l'eau", "vin,", "pain.", "«", "non", "»", "50%"]
    pairs = [
        Pair(i, " ".join(chance.choices(words, k=5)), " ".join(chance.choices(words, k=i % 9)))
        for i in range(2_500)
    ]
    french = MosesWordTokenizer("fr")
    alone, together = (
        list(tokenize_pairs(pairs, french, ENGLISH, 6, workers, len(pairs), "test"))
        for workers in (1, 2)
    )
    assert len(alone) == len(together) == 25
    for one, other in zip(alone, together, strict=True):
        assert json.dumps(one, default=np.ndarray.tolist) == json.dumps(
            other, default=np.ndarray.tolist
        )


def test_workers_leave_the_script_alone_that_runs(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "import sys\n"
        "from pathlib import Path\n"
        "from seq2seq.data.encoding import Pair, tokenize_pairs\n"
        "from seq2seq.data.tokenization import WhitespaceTokenizer\n"
        "if __name__ == '__main__':\n"
        "    pairs = [Pair(1, 'a b', 'c')] * 3_000\n"
        "    sides = WhitespaceTokenizer('en'), WhitespaceTokenizer('de')\n"
        "    chunks = list(tokenize_pairs(pairs, *sides, 9, 2, len(pairs), 'test'))\n"
        "    print(sum(len(chunk.lines) for chunk in chunks), Path(__file__).name, __spec__)\n"
        "    assert 'torch' not in sys.modules\n"
        "else:\n"
        "    Path(sys.argv[-1]).write_text('imported by a worker')\n"
    )
    trace = tmp_path / "trace"
    command = [sys.executable, str(script), str(trace)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    assert done.stdout.split() == ["3000", "script.py", "None"]
    assert not trace.exists()


@given(
    chunks=st.lists(
        st.lists(st.lists(st.sampled_from("abcdef"), min_size=1, max_size=5), max_size=4),
        max_size=4,
    ),
    end=st.none() | st.just(3),
    above=st.sampled_from([0, 1 << 16]),
    block=st.integers(1, 9),
)
def test_a_side_file_renumbers_every_sentence(
    tmp_path_factory: pytest.TempPathFactory,
    chunks: list[list[list[str]]],
    end: int | None,
    above: int,
    block: int,
) -> None:
    folder = tmp_path_factory.mktemp("side")
    sentences = [sentence for chunk in chunks for sentence in chunk]
    if not sentences:
        return
    file = TokenIdWriter(folder / "train.source", end)
    for chunk in chunks:
        pairs = [Pair(1, " ".join(sentence), "x") for sentence in chunk]
        file.append(tokenize_chunk(pairs, ENGLISH, GERMAN, 9).source)
    counted = Counter(piece for sentence in sentences for piece in sentence)
    assert dict(zip(file.pieces, file.counts, strict=True)) == counted
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(encoding, "BLOCK", block)
        file.finish([ord(piece) + above for piece in file.pieces])
    flat = np.load(folder / "train.source.npy")
    offsets = np.load(folder / "train.source.offsets.npy")
    assert (flat.dtype, offsets.dtype) == (np.int32 if above else np.uint16, np.int64)
    rows = [flat[a:b].tolist() for a, b in pairwise(offsets)]
    tail = [] if end is None else [end]
    assert rows == [[ord(piece) + above for piece in sentence] + tail for sentence in sentences]
    assert {path.name for path in folder.iterdir()} == {
        "train.source.npy",
        "train.source.offsets.npy",
    }


def test_the_most_frequent_pieces_are_those_and_their_equals(tmp_path: Path) -> None:
    file = TokenIdWriter(tmp_path / "train.source", None)
    for text in ("a a a b b c", "c d d e a"):
        file.append(tokenize_chunk([Pair(1, text, "x")], ENGLISH, GERMAN, 9).source)
    assert file.most_frequent(1, 1) == {"a": 4}
    assert file.most_frequent(2, 1) == file.most_frequent(4, 2) == {"a": 4, "b": 2, "c": 2, "d": 2}
    assert (
        file.most_frequent(5, 1)
        == file.most_frequent(99, 1)
        == {**file.most_frequent(4, 1), "e": 1}
    )
