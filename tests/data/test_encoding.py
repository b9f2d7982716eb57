"""The stream from text files to flat ids: what is chosen, in which order, at what count."""

import io
import json
import multiprocessing
import random
import signal
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from itertools import count, pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from seq2seq.data import encoding
from seq2seq.data.encoding import Pair, TokenIdWriter, tokenize_chunk
from seq2seq.data.tokenization import WhitespaceTokenizer
from seq2seq.errors import UserError

ENGLISH, GERMAN = WhitespaceTokenizer("en"), WhitespaceTokenizer("de")


@given(st.integers(0, 60), st.integers(1, 70))
def test_a_sample_is_evenly_spaced(total, limit):
    pairs = [Pair(i, "a", "b") for i in range(total)]
    lines = [pair.line for pair in encoding.subsample_pairs(pairs, total, limit)]
    assert len(lines) == min(total, limit)
    assert lines == sorted(set(lines))
    if len(lines) > 1:
        assert np.ptp(np.diff(lines)) <= 1


@pytest.mark.slow
def test_worker_processes_change_nothing(monkeypatch):
    """With more chunks than may be under way at a time."""
    monkeypatch.setattr(encoding, "CHUNK", 10)
    monkeypatch.setattr(encoding, "WORTH_SHARING", 1)
    chance = random.Random(1)
    words = ["l'eau", "vin,", "pain.", "«", "non", "»", "50%"]
    pairs = [
        Pair(i, " ".join(chance.choices(words, k=5)), " ".join(chance.choices(words, k=i % 9)))
        for i in range(150)
    ]
    results = []
    for workers in (1, 2):
        chunks = encoding.tokenize_pairs(pairs, GERMAN, ENGLISH, 6, workers, len(pairs), "test")
        results.append(json.dumps(list(chunks), default=np.ndarray.tolist))
    assert results[0] == results[1]


@pytest.mark.slow
def test_a_killed_worker_is_one_sentence(monkeypatch):
    monkeypatch.setattr(encoding, "CHUNK", 100)
    pairs = (Pair(i, "a", "b") for i in count(1))  # no end: the worker is always at work
    total = encoding.WORTH_SHARING
    chunks = encoding.tokenize_pairs(pairs, ENGLISH, GERMAN, 9, 2, total, "test")
    next(chunks)
    multiprocessing.active_children()[0].kill()
    with pytest.raises(UserError, match=r"tokenization\.workers"):
        for _ in chunks:
            pass


@pytest.mark.slow
def test_ctrl_c_is_left_to_the_parent_of_the_workers():
    context, given = multiprocessing.get_context("spawn"), (ENGLISH, GERMAN, 9)
    with ProcessPoolExecutor(1, context, encoding._start_worker, given) as pool:
        assert pool.submit(signal.getsignal, signal.SIGINT).result() == signal.SIG_IGN


SENTENCE = st.lists(st.sampled_from("abcdef"), min_size=1, max_size=5)


@given(
    chunks=st.lists(st.lists(SENTENCE, max_size=4), min_size=1, max_size=4),
    end=st.none() | st.just(3),
    above=st.sampled_from([0, 1 << 16]),
    block=st.integers(1, 9),
)
def test_ids_are_renumbered_in_every_sentence(tmp_path_factory, chunks, end, above, block):
    folder = tmp_path_factory.mktemp("side")
    sentences = [sentence for chunk in chunks for sentence in chunk]
    if not sentences:
        return
    file = TokenIdWriter(folder / "train.source", end)
    for chunk in chunks:
        pairs = [Pair(1, " ".join(sentence), "x") for sentence in chunk]
        file.append(tokenize_chunk(pairs, ENGLISH, GERMAN, 9).source)
    counted = Counter(piece for sentence in sentences for piece in sentence)
    assert file.counts == counted
    assert list(file.pieces.values()) == list(range(len(counted)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(encoding, "BLOCK", block)
        file.finish([ord(piece) + above for piece in file.pieces])
    flat = np.load(folder / "train.source.npy")
    offsets = np.load(folder / "train.source.offsets.npy")
    for name, array in (("train.source.npy", flat), ("train.source.offsets.npy", offsets)):
        saved = io.BytesIO()
        np.save(saved, array)
        assert (folder / name).read_bytes() == saved.getvalue()
    assert (flat.dtype, offsets.dtype) == (np.int32 if above else np.uint16, np.int64)
    rows = [flat[a:b].tolist() for a, b in pairwise(offsets)]
    tail = [] if end is None else [end]
    assert rows == [[ord(piece) + above for piece in sentence] + tail for sentence in sentences]
    assert len(list(folder.iterdir())) == 2
